// Catalogue of operators: one row says everything that printer and teacher need to know about an ATen
// operator. The rows stand in catalogue_pointwise.cc and catalogue_compound.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/program.h"

namespace tritogen {

enum class OpClass {
  kPointwise,  // one element of each operand gives one element of the result
  kReduction,
  kMatmul,
  kNorm,    // several reductions and pointwise steps under one name: softmax, layer_norm, losses
  kLayout,  // moves no data or only copies it
  kCreate,  // makes a tensor from scalars
  kOther,   // known by name, not expressible by the teacher: convolution, pooling, sorting
};

// In which dtype a pointwise operator works on its operands.
enum class Compute {
  kResult,    // that of its result (half types in float32)
  kPromoted,  // the promoted dtype of its operands: comparisons
  kAsIs,      // every operand in its own: casts, selections' conditions
};

// A Triton expression, used when every condition in `when` ("alpha=1", "min=None", "approximate='tanh'";
// comma means and) holds; {name} stands for the parameter of that name. The first case that holds is taken.
struct OpCase {
  std::string_view when;
  std::string_view triton;
};

struct OpRow {
  std::string_view name;  // ATen name without namespace and, mostly, overload: "add", "max.other"
  OpClass kind = OpClass::kOther;
  std::string_view params;  // in schema order, with defaults: "self, other, alpha=1"
  double flops = 0;         // per element of the result (reductions, norms: of the first operand)
  Compute compute = Compute::kResult;
  std::vector<OpCase> cases = {};  // pointwise only
  std::string_view torch = {};     // PyTorch spelling: "torch.relu"; empty: torch.ops.aten.<name>
};

// All rows, in file order.
const std::vector<OpRow>& Catalogue();

// "aten::add.Tensor" → "add.Tensor".
std::string_view WithoutNamespace(std::string_view aten_name);
// "aten::add.Tensor" → "add".
std::string_view BaseName(std::string_view aten_name);
// Whether the operator writes one of its operands: "aten::relu_".
bool IsInPlace(std::string_view aten_name);

// The row of an ATen name: the one for exactly this overload where there is one, else the one for the base
// name. Null for an operator that the catalogue does not know.
const OpRow* FindOp(std::string_view aten_name);

// Arguments by parameter name; defaults filled in.
class BoundArgs {
 public:
  // Nothing when the node has more arguments than the row, lacks one without default or has an unknown
  // keyword.
  static std::optional<BoundArgs> Bind(const OpRow& row, const Node& node);

  // The argument of this name; a none for a name that the row does not have.
  const Arg& operator[](std::string_view name) const;
  // Conditions of an OpCase.
  bool Holds(std::string_view when) const;
  const std::vector<std::pair<std::string, Arg>>& all() const { return args_; }

 private:
  std::vector<std::pair<std::string, Arg>> args_;
};

// Parses a default or a condition's value: None, True, 3, 0.5, 'tanh', [].
Arg ParseLiteral(std::string_view text);
// A literal as Python writes it: 2.0, float("inf"), None, [1, 2]. `REQUIRES`: no NodeRef inside.
std::string PythonLiteral(const Arg& arg);

// Helpers for reading arguments; nothing when the argument is not of that kind (bools are not integers).
std::optional<double> AsNumber(const Arg& arg);
std::optional<int64_t> AsInt(const Arg& arg);
bool AsBool(const Arg& arg, bool otherwise);
bool IsNone(const Arg& arg);
const NodeRef* AsRef(const Arg& arg);
// A list of integers; one integer counts as a list of one. Nothing for anything else.
std::optional<std::vector<int64_t>> AsInts(const Arg& arg);

}  // namespace tritogen
