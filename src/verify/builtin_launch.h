// Launches of Tritogen's own kernels on the device where the tensors are: on a GPU they are put on its
// stream, on a CPU the tile machine runs them, which is how tests see them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <variant>

namespace tritogen {

// A tensor stands for the address of its first element.
using BuiltinArg = std::variant<at::Tensor, int64_t, double>;

// `name` and `args` as kernels/emit.py has them; `programs` is the grid. At least one argument is a tensor.
// Throws cuda::Error when the context is gone, InternalError when the kernel cannot be compiled or, on the
// CPU, accesses what it must not.
void LaunchBuiltin(const std::string& name, int64_t programs, std::initializer_list<BuiltinArg> args);

// "f32" as kernels/emit.py names the dtypes that it compiles for; null for others.
const char* BuiltinDtype(at::ScalarType type);

// Whether kernels can take the tensor as a flat run of its elements.
bool IsFlat(const at::Tensor& tensor);

}  // namespace tritogen
