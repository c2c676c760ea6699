#include "report/document.h"

#include <fmt/ranges.h>

#include "report/html.h"
#include "report/page_css.h"

namespace tritogen::report {

std::string Document(std::string_view title, std::string_view main) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n"
      "</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
      Escape(title), kPageCss, main);
}

std::string Section(std::string_view title, std::string_view body) {
  return body.empty() ? "" : fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", Escape(title), body);
}

std::string Figure(std::string_view name, std::string_view value, std::string_view remark) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd><dd class=\"small\">{}</dd></div>\n", Escape(name),
                     Escape(value), Escape(remark));
}

std::string Fact(std::string_view name, std::string_view value) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", Escape(name), value);
}

std::string VersionsFact(const std::vector<std::string>& versions) {
  return Fact("Versions", Escape(fmt::format("{}", fmt::join(versions, " · "))));
}

}  // namespace tritogen::report
