#include "synth/sketch.h"

#include <algorithm>

#include "base/error.h"
#include "program/infer.h"

namespace tritogen::synth {
namespace {

// The catalogue's rule, for the few dtypes that sketches have.
Dtype ResultDtype(const Sketch& sketch, const SketchStep& step, size_t result) {
  const Dtypes rule = step.row->DtypeOf(static_cast<int>(result));
  if (rule == Dtypes::kBool) return Dtype::kBool;
  if (rule == Dtypes::kIndex) return Dtype::kInt64;
  const Dtype first = sketch.tensors[step.operands[0]].dtype;
  if (rule == Dtypes::kFirst) return first;
  if (rule == Dtypes::kWideInt) return IsFloating(first) ? first : Dtype::kInt64;
  Dtype promoted = Dtype::kBool;
  for (size_t i = rule == Dtypes::kSelected ? 1 : 0; i < step.operands.size(); ++i)
    promoted = PromotedDtype(promoted, sketch.tensors[step.operands[i]].dtype);
  for (const char* number : {"self", "other", "exponent", "min", "max"}) {
    const Arg& arg = step.args[number];
    if (std::holds_alternative<double>(arg.v)) promoted = PromotedDtype(promoted, Dtype::kFloat32);
    if (std::holds_alternative<int64_t>(arg.v)) promoted = PromotedDtype(promoted, Dtype::kInt64);
  }
  return rule == Dtypes::kFloat && !IsFloating(promoted) ? Dtype::kFloat32 : promoted;
}

}  // namespace

std::string AddStep(Sketch* sketch, SketchStep step, const std::set<std::string, std::less<>>& free,
                    int most_rank) {
  TRITOGEN_CHECK(!step.operands.empty());
  OpForm form{.row = step.row, .signature = step.signature, .args = &step.args, .free = free};
  for (int tensor : step.operands) form.tensors.push_back(OpForm::AnyOfRank(sketch->tensors[tensor].rank));
  step.shapes = ConstraintsOf(form);
  if (!step.shapes.problem.empty()) return step.shapes.problem;
  if (step.shapes.results.empty()) return "it has no result";
  for (const Terms& sizes : step.shapes.results) {
    if (static_cast<int>(sizes.size()) > most_rank) return "its result has too many dimensions";
  }
  const int number = static_cast<int>(sketch->steps.size());
  for (int tensor : step.operands) {
    ++sketch->tensors[tensor].uses;
    const int input = sketch->tensors[tensor].input;
    if (input < 0) continue;
    InputValues& values = sketch->inputs[input].values;
    if (values.indexed_step == number && values.indexed_axis < 0)
      values.indexed_axis = static_cast<int>(AsInt(step.args["dim"]).value_or(0));
  }
  const bool exact = std::all_of(step.operands.begin(), step.operands.end(),
                                 [&](int tensor) { return sketch->tensors[tensor].exact; });
  for (size_t r = 0; r < step.shapes.results.size(); ++r) {
    step.results.push_back(static_cast<int>(sketch->tensors.size()));
    const int rank = static_cast<int>(step.shapes.results[r].size());
    const Dtype dtype = ResultDtype(*sketch, step, r);
    // Of equal values either index is right, however exactly they are known.
    const bool index = step.row->DtypeOf(static_cast<int>(r)) == Dtypes::kIndex;
    sketch->tensors.push_back({.rank = rank,
                               .dtype = dtype,
                               .step = number,
                               .result = static_cast<int>(r),
                               .exact = exact && !index && (step.row->selects || !IsFloating(dtype))});
  }
  sketch->steps.push_back(std::move(step));
  return "";
}

std::vector<int> Sketch::Outputs() const {
  std::vector<int> outputs;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].step >= 0 && tensors[i].uses == 0) outputs.push_back(static_cast<int>(i));
  }
  return outputs;
}

bool Drawable(const OpRow& row) {
  if (row.shape == nullptr || row.signatures.empty() || row.kind == OpClass::kCreate) return false;
  if (row.torch.empty() || row.name.starts_with('_') || row.name.starts_with("native_")) return false;
  if (row.name == "view" || row.name == "view_as") return false;  // it depends on strides; reshape does not
  // Later rows that programs hardly have: what is drawn, counted and learned stays what it was.
  if (row.name == "i0" || row.name == "nextafter") return false;
  const Signature& signature = row.signatures[0];
  if (signature.results < 0) return false;  // a list's length may depend on sizes
  return std::any_of(signature.params.begin(), signature.params.end(),
                     [](const Param& param) { return param.IsTensor(); });
}

}  // namespace tritogen::synth
