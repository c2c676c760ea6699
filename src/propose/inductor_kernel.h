// One kernel of Inductor's: its text taken apart, and put together as a person would write it.
#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tritogen::inductor {

// The text uses something that has no plain form; what() names it.
class NoPlainForm : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::vector<std::string> Lines(std::string_view text);

// What Inductor's own names become: "XBLOCK" → "BLOCK_X"; others stay.
std::string PlainName(const std::string& name);

struct Kernel {
  int number = 0;                       // in the order of the source, from 1
  std::string kind;                     // "pointwise", "reduction", "persistent_reduction"
  std::string grid_type;                // "Grid1D"
  std::vector<std::string> parameters;  // all of them
  std::set<std::string> blocks;         // those that are tl.constexpr
  std::vector<std::string> body;        // its lines, indented as they were
  std::string before;                   // functions of its own that it calls

  std::string plain_name, plain;  // after Clean
  std::set<std::string> helpers;  // functions that replace Inductor's

  // Throws NoPlainForm.
  static Kernel Parse(std::string_view text);
  // Axes that the grid divides: ("xnumel", "XBLOCK"), in the grid's order.
  std::vector<std::pair<std::string, std::string>> grid_axes() const;
  // Writes `plain`; `passed` are the tensors of its first launch, whose names its pointers get. Does nothing
  // when called again.
  void Clean(const std::vector<std::string>& passed, const std::string& name);
};

}  // namespace tritogen::inductor
