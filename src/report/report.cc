#include "report/report.h"

#include <fmt/format.h>

#include "report/html.h"
#include "report/page.h"
#include "report/page_css.h"

namespace tritogen {

std::string RenderReport(const ReportInput& input) {
  using namespace report;
  const std::string head = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{} – Tritogen "
      "{}</title>\n<style>\n{}</style>\n"
      "</head>\n",
      Escape(input.task), Escape(input.command), kPageCss);
  return head + "<body>\n<main>\n" + HeaderSection(input) + FiguresSection(input.verdict) +
         CandidatesSection(input) + EvidenceSection(input.verdict) + ErrorSection(input.verdict) +
         TimeSection(input.verdict) + RooflineSection(input.verdict) + MethodSection(input) +
         SourcesSection(input) + "</main>\n</body>\n</html>\n";
}

}  // namespace tritogen
