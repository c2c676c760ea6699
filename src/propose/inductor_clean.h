// Compile and clean, first half: what Inductor wrote becomes a plain Triton file, by rules. Heuristics
// decorators go, launches become plain, helpers that only Inductor has are written out, what is computed for
// nothing goes, and names say what they hold. Meaning is kept as far as the text shows; every result is
// verified anyway.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tritogen {

struct CleanedInductor {
  std::string code;  // imports, kernels, and a function named `function`
  std::string plan;  // in words, a line for each kernel
  int kernels = 0, library_calls = 0;
};

struct CleanRequest {
  std::vector<std::string> parameters;  // of the function, in the order of the compiled program's
  std::string function = "compiled";
  std::string kernel_name = "fused";  // of the kernels, numbered where there are several
  std::string structure = "*";        // of the result: FillStructure
};

// Nothing but a sentence where the source uses what has no plain form: "triton_helpers.welford".
std::variant<CleanedInductor, std::string> CleanInductor(std::string_view source,
                                                         const CleanRequest& request);

}  // namespace tritogen
