// Catalogue of operators: one row says everything about an ATen operator that printer, parser, synthesis,
// teacher and tests need to know. The rows stand in rows_*.cc, one file a family; docs/programs.md says what
// the columns mean and how to add a row. Every row is run against PyTorch by tests/catalogue.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/literal.h"
#include "program/param_spec.h"
#include "program/program.h"
#include "program/shape_rules.h"
#include "program/signature.h"

namespace tritogen {

enum class OpClass {
  kPointwise,  // one element of each operand gives one element of the result
  kReduction,
  kMatmul,
  kNorm,    // several reductions and pointwise steps under one name: softmax, layer_norm, losses
  kLayout,  // moves no data or only copies it
  kCreate,  // makes a tensor from scalars
  kOther,   // none of these: convolution, pooling, sorting
};

// What people call a class: "pointwise", "reductions", …
std::string_view ClassName(OpClass kind);
// Nothing for a name that is none.
std::optional<OpClass> ClassNamed(std::string_view name);

// In which dtype a pointwise operator works on its operands.
enum class Compute {
  kResult,    // that of its result (half types in float32)
  kPromoted,  // the promoted dtype of its operands: comparisons
  kAsIs,      // every operand in its own: casts, selections' conditions
};

// A Triton expression, used when every condition in `when` ("alpha=1", "min=None", "approximate='tanh'",
// "min=tensor"; comma means and) holds; {name} stands for the parameter of that name. The first case that
// holds is taken.
struct OpCase {
  std::string when;
  std::string triton;
};

// Dtype of a result. An argument `dtype` that is given comes before all but kBool and kIndex.
enum class Dtypes {
  kPromoted,  // of all tensors and numbers, as PyTorch promotes them
  kSelected,  // the same without the first tensor, which is a condition
  kFloat,     // the same, integers and bools as float32
  kFirst,     // that of the first tensor
  kBool,
  kIndex,    // int64
  kInt32,    // what LAPACK counts with
  kWideInt,  // that of the first tensor; integers and bools as int64
  kCreated,  // float32, or int64 where all numbers are integers and the row makes a range
};

// How floating-point operations are counted: `factor` times
enum class FlopCount {
  kResults,      // the elements of all results
  kFirst,        // the elements of the first tensor
  kProduct,      // result × contracted size: matrix products, where a multiply-add counts 2
  kConvolution,  // result × weights of one output channel; transposed: input × weights of one input channel
  kAttention,    // both products and 5 for each score
  kSort,         // n log2 n of the first tensor
  kRecurrent,    // steps × batch × weights
  kNothing,      // a view: no operations and no bytes either
};

struct Flops {
  FlopCount count = FlopCount::kResults;
  double factor = 0;
};

struct OpRow {
  std::string name;  // base name of the ATen operator, or an overload's where overloads differ: "max.dim"
  OpClass kind = OpClass::kOther;
  // ATen's schemas that the row answers for. The first that takes a call's arguments is the one meant when
  // only the PyTorch function is named; others print with their full names.
  std::vector<Signature> signatures;
  ShapeRule shape = nullptr;
  std::vector<Dtypes> dtypes = {Dtypes::kPromoted};  // by result; the last one stands for the rest
  Flops flops;
  // Floating-point results hold elements of the operands, their negatives or numbers: nothing is rounded.
  bool selects = false;
  std::string torch;             // how it is written: spelling.h. Empty: torch.ops.aten.<name>
  std::vector<ParamSpec> specs;  // what arguments may be drawn: param_spec.h
  Compute compute = Compute::kResult;
  std::vector<OpCase> cases;  // pointwise only

  const ParamSpec* SpecOf(std::string_view param) const;
  Dtypes DtypeOf(int result) const;
};

// All rows, by family.
const std::vector<OpRow>& Catalogue();

// "aten::add.Tensor" → "add.Tensor".
std::string_view WithoutNamespace(std::string_view aten_name);
// "aten::add.Tensor" → "add".
std::string_view BaseName(std::string_view aten_name);
// Whether the operator writes one of its operands: "aten::relu_".
bool IsInPlace(std::string_view aten_name);

// The row of an ATen name: the one with exactly this overload where there is one, else the one of this name.
// Null for an operator that the catalogue does not know.
const OpRow* FindOp(std::string_view aten_name);

// The first operation of a program that the catalogue does not know; null where it knows all.
const Node* FindUnknown(const Program& program);

// A call with the row and signature that take it.
struct OpCall {
  const OpRow* row = nullptr;
  const Signature* signature = nullptr;
  BoundArgs args;
};
// Nothing when the catalogue does not know the operator or the arguments do not fit it.
std::optional<OpCall> BindCall(const Node& node);
// The same for the signatures of one row; a node.op without overload stands for the first that fits.
std::optional<OpCall> BindCall(const OpRow& row, const Node& node);

}  // namespace tritogen
