// What every page is made of.
#pragma once

#include <string>
#include <string_view>

namespace tritogen::report {

// A whole page, self-contained: no script, nothing from elsewhere. `title` is text, `main` is HTML.
std::string Document(std::string_view title, std::string_view main);

// Under a heading; empty when the body is.
std::string Section(std::string_view title, std::string_view body);

// One number of the row of figures at the top; all three are text.
std::string Figure(std::string_view name, std::string_view value, std::string_view remark);

}  // namespace tritogen::report
