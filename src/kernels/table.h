// The table that kernels/emit.py writes while the program is built.
#pragma once

#include <vector>

namespace tritogen {

struct KernelRow {
  const char* name;   // with its choices: "measure_rows.f32.1.64"
  const char* entry;  // of the TTIR function
  const char* ttir;
};
const std::vector<KernelRow>& KernelTable();

}  // namespace tritogen
