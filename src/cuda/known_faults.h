// Faults of ptxas that are known by what they leave in machine code.
#pragma once

#include <string_view>

namespace tritogen::cuda {

// Additions of two numbers of 16 bits each by one instruction, of which the constant has become 0. Where only
// one of the two sums is read, the ptxas of CUDA 12.8, 12.9 and 13.0 makes these of `add.s16x2` for Hopper:
//     mov.b32 c, 5;  add.s16x2 y, x, c;  mov.b32 {low, _}, y;     gives     VIADD.16x2 y, x, 0x0
// LLVM writes such PTX for indices that it has narrowed to 16 bits (`offsets % 116 - 1`), so kernels whose
// TTIR and PTX are right read the wrong elements, or beyond a tensor. `cubin`: whole; other architectures
// have none.
int LostConstants(std::string_view cubin);

}  // namespace tritogen::cuda
