// What the kernels of factors of matrices share: where elements lie, and text of several lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "teach/kernel.h"
#include "teach/tile_code.h"

namespace tritogen::teach {

class FactorCode {
 public:
  // REQUIRES: the group is one prim of kFactor.
  FactorCode(const Graph& graph, const Group& group, const std::vector<std::string>& buffers);

  // "tl.load(x_ptr + matrix * 64 + rows * 8 + cols, mask=…, other=0.0)": an operand's element at row and
  // column.
  std::string Load(size_t operand, const std::string& row, const std::string& column,
                   const std::string& mask);
  // Address of the first number that a matrix's results begin with.
  std::string Result();
  // Lines of the body, at one indentation more than they have; names in them are nobody else's.
  void Add(std::string_view text);
  void Constant(std::string_view name, int64_t value);

  const Prim& prim() const { return prim_; }
  int64_t rows() const { return prim_.operands.back().sizes[1]; }
  int64_t columns() const { return prim_.operands.back().sizes[2]; }
  // The kernel of all that, of so many programs with tiles of so many elements.
  KernelCode Kernel(const std::string& name, int64_t programs, int64_t elements);

 private:
  const Graph& graph_;
  const Group& group_;
  const Prim& prim_;
  const PrimId id_;
  TileCode code_;
  Lines lines_;
  std::vector<std::string> names_;
  std::string values_;
};

// The loops of eigenvalues and singular values, by rotations of pairs of rows or columns.
void AddRotations(FactorCode* code);

}  // namespace tritogen::teach
