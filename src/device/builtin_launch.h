// Launches of Tritogen's own kernels on the device where the tensors are: on a GPU they are put on its
// stream, on a CPU the tile machine runs them, which is how tests see them.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <variant>

namespace tritogen {

// A tensor stands for the address of its first element.
using BuiltinArg = std::variant<at::Tensor, int64_t, double>;

struct Grid {
  Grid(int64_t x, int64_t y = 1, int64_t z = 1) : size{x, y, z} {}  // NOLINT: a number is a grid
  std::array<int64_t, 3> size;
};

// `name` and `args` as kernels/emit.py has them; `grid` counts programs. At least one argument is a tensor.
// Throws cuda::Error when the context is gone, InternalError when the kernel cannot be compiled or, on the
// CPU, accesses what it must not or is given an argument that is no multiple of what its text promises.
void LaunchBuiltin(const std::string& name, const Grid& grid, std::span<const BuiltinArg> args);
inline void LaunchBuiltin(const std::string& name, const Grid& grid, std::initializer_list<BuiltinArg> args) {
  LaunchBuiltin(name, grid, std::span(args.begin(), args.size()));
}

// "f32" as kernels/emit.py names the dtypes that it compiles for; null for others.
const char* BuiltinDtype(at::ScalarType type);

// "1024" as kernels/emit.py names the forms for rows of so many elements. Throws UserError: there is none.
std::string BuiltinWidth(int64_t elements);

// Kernels count the elements of a flat run in 32 bits.
constexpr int64_t kMostFlat = int64_t{1} << 31;

// Whether kernels can take the tensor as a flat run of its elements, fewer than kMostFlat.
bool IsFlat(const at::Tensor& tensor);

}  // namespace tritogen
