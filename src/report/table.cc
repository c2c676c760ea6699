#include "report/table.h"

#include <fmt/format.h>

#include "report/html.h"

namespace tritogen::report {

Table::Table(std::vector<std::string> titles, size_t text_columns)
    : columns_(titles.size()), text_columns_(text_columns) {
  for (size_t i = 0; i < titles.size(); ++i)
    head_ += fmt::format("<th{}>{}</th>", i < text_columns_ ? " class=\"text\"" : "", Escape(titles[i]));
}

void Table::Row(const std::vector<std::string>& cells, bool marked) {
  rows_ += marked ? "<tr class=\"marked\">" : "<tr>";
  for (size_t i = 0; i < cells.size(); ++i)
    rows_ += fmt::format("<td{}>{}</td>", i < text_columns_ ? " class=\"text\"" : "", Escape(cells[i]));
  rows_ += "</tr>\n";
}

void Table::Remark(const std::string& text) {
  rows_ += fmt::format("<tr class=\"remark\"><td class=\"text\" colspan=\"{}\"><div>{}</div></td></tr>\n",
                       columns_, Escape(text));
}

std::string Table::Html() const {
  return fmt::format(
      "<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n", head_,
      rows_);
}

}  // namespace tritogen::report
