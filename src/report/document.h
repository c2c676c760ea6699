// What every page is made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tritogen::report {

// A whole page, self-contained: no script, nothing from elsewhere. `title` is text, `main` is HTML.
std::string Document(std::string_view title, std::string_view main);

// Under a heading; empty when the body is.
std::string Section(std::string_view title, std::string_view body);

// One number of the row of figures at the top; all three are text.
std::string Figure(std::string_view name, std::string_view value, std::string_view remark);

// One line of a list of facts (<dl class="facts">): `name` is text, `value` is HTML.
std::string Fact(std::string_view name, std::string_view value);
// What the page's numbers were made with: "Tritogen 0.1.0", "torch 2.11.0".
std::string VersionsFact(const std::vector<std::string>& versions);

}  // namespace tritogen::report
