// The table that kernels/emit.py writes while the program is built.
#pragma once

#include <vector>

namespace tritogen {

enum class KernelFamily { kVerifier, kDecoder, kTraining };

struct KernelRow {
  KernelFamily family;
  const char* name;   // with its choices: "measure_rows.f32.1.64"
  const char* entry;  // of the TTIR function
  int num_warps, num_stages;
  bool launch_pdl;
  const char* ttir;
};
const std::vector<KernelRow>& KernelTable();

}  // namespace tritogen
