// A table that scrolls where the page is narrow.
#pragma once

#include <string>
#include <vector>

namespace tritogen::report {

class Table {
 public:
  // The first `text_columns` columns are text, the others numbers. Titles and cells are escaped by the table.
  Table(std::vector<std::string> titles, size_t text_columns);
  void Row(const std::vector<std::string>& cells, bool marked = false);
  // A line of words below the last row.
  void Remark(const std::string& text);
  std::string Html() const;

 private:
  size_t columns_, text_columns_;
  std::string head_, rows_;
};

}  // namespace tritogen::report
