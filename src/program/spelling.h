// How operators are written in PyTorch: the column `torch` of the catalogue, read in both directions.
//
//   torch.relu                        a function that takes the schema's parameters in the schema's order
//   torch.nn.functional.kl_div(input=self, target, reduction)
//                                     a function whose parameters are these, in this order; `python=aten`
//                                     where the names differ, `python=literal` where only Python has the
//                                     parameter. Parameters that are not listed keep their defaults
//   …(input, training; cudnn_enabled=False)
//                                     after the semicolon: values of parameters that only the schema has
//   .expand                           a method of the first argument
//   []                                slice: x[:, 1:4]
//
// A `reduction` that is an integer in ATen is a word in torch.nn.functional. Operands are written by
// position, what has a default and what is called `dim` by keyword.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/catalogue.h"

namespace tritogen {

// A call as Python has it. A method's receiver is the first argument; "[]" has the arguments of slice.Tensor.
struct PythonCall {
  std::string callee;  // "torch.add", ".expand", "[]", "torch.ops.aten.add.Tensor"
  std::vector<Arg> args;
  std::vector<std::pair<std::string, Arg>> kwargs;
};

// The PyTorch spelling where it reads back as exactly this call, torch.ops.aten.… otherwise.
PythonCall Spell(const Node& node);

// The operation that a call means, its arguments in the shortest form (SetArgs); results are left empty.
// Nothing for a callee that the catalogue does not know or arguments that do not fit it;
// torch.ops.aten.NAME.OVERLOAD is any operator.
std::optional<Node> Unspell(const PythonCall& call);

}  // namespace tritogen
