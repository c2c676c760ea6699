// How an answer is written, as opposed to what it does: names, comments, layout of the wrapper, wording of
// the plan. Drawn from a seed, so that data made of the teacher's answers does not teach one handwriting.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tritogen::teach {

enum class Wrapper {
  kForward,   // forward allocates and launches
  kFunction,  // a function does, forward calls it
  kHelpers,   // one function for each launch
};

struct Style {
  std::map<std::string, std::string> names;  // of the plain style's variables → here
  std::string pointer_suffix = "_ptr";
  std::string kernel_name = "{}_kernel";  // {}: the operators
  int comments = 1;                       // 0 none, 1 the plain style's, 2 a docstring for each kernel, too
  bool grid_line = false;                 // the grid on a line of its own
  Wrapper wrapper = Wrapper::kForward;
  int wording = 0;  // of the plan

  // Text of a kernel in this style. `summary`: one sentence on what it does.
  std::string Written(const std::string& source, const std::string& summary) const;
  // "N=512, BLOCK=1024": the constants of a launch of the kernel with this source.
  std::string Constants(const std::string& text, const std::string& source) const;
};

// Seed 0 gives the plain style.
Style StyleOf(uint64_t seed);

}  // namespace tritogen::teach
