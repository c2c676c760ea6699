#include "verify/aten_bounds.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/aten_value.h"

namespace tritogen {
namespace {

// The arguments of a call by their names.
class Named {
 public:
  Named(const c10::FunctionSchema& schema, const torch::jit::Stack& values)
      : schema_(schema), values_(values) {}

  const c10::IValue& operator[](const std::string& name) const {
    static const c10::IValue kNone;
    const auto index = schema_.argumentIndexWithName(name);
    return index ? values_[*index] : kNone;
  }
  // Undefined where there is none.
  at::Tensor tensor(const std::string& name) const {
    const c10::IValue& value = (*this)[name];
    return value.isTensor() ? value.toTensor() : at::Tensor();
  }
  std::vector<at::Tensor> tensors(const std::string& name) const {
    const c10::IValue& value = (*this)[name];
    return value.isTensorList() ? value.toTensorVector() : std::vector<at::Tensor>();
  }

 private:
  const c10::FunctionSchema& schema_;
  const torch::jit::Stack& values_;
};

void Require(bool fits, std::string_view what) {
  if (!fits) throw ArgumentError(std::string(what));
}

// Numbers of integer tensors, from one end to the other.
std::vector<int64_t> NumbersOf(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kCPU, at::kLong).contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

void CheckChannels(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor x = arguments.tensor("input");
  Require(x.defined() && x.dim() >= 2, "an input of two dimensions or more is needed");
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    const at::Tensor values = arguments.tensor(name);
    Require(!values.defined() || values.numel() == x.size(1),
            fmt::format("{} has another number of elements than the input has channels", name));
  }
}

void CheckRmsNorm(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor weight = arguments.tensor("weight");
  if (!weight.defined()) return;
  Require(weight.sizes().vec() == arguments["normalized_shape"].toIntVector(),
          "the weight has another shape than what is normalised");
}

void CheckWeightNorm(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor v = arguments.tensor("v"), g = arguments.tensor("g");
  const int64_t dim = arguments["dim"].toInt();
  Require(v.dim() > 0 && dim >= -1 && dim < v.dim(), "there is no such dimension");
  Require(g.numel() == (dim == -1 ? 1 : v.size(dim)), "the lengths are not one for each row");
}

void CheckAttention(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor key = arguments.tensor("key"), value = arguments.tensor("value");
  Require(key.dim() >= 2 && value.dim() >= 2 && key.size(-2) == value.size(-2),
          "there are not as many values as keys");
}

// Of one layer in one direction: `gates` lines of weights for each unit.
struct RecurrentSizes {
  int64_t gates, inputs, units, outputs;
};

void CheckWeights(const RecurrentSizes& sizes, std::span<const at::Tensor> weights, bool has_biases) {
  const int64_t lines = sizes.gates * sizes.units;
  Require(weights[0].sizes() == at::IntArrayRef({lines, sizes.inputs}), "weights of the input do not fit");
  Require(weights[1].sizes() == at::IntArrayRef({lines, sizes.outputs}), "weights of the state do not fit");
  for (size_t i = 2; has_biases && i < 4; ++i)
    Require(weights[i].sizes() == at::IntArrayRef({lines}), "biases do not fit");
  const size_t plain = has_biases ? 4 : 2;
  if (weights.size() == plain) return;
  Require(weights[plain].sizes() == at::IntArrayRef({sizes.outputs, sizes.units}), "projections do not fit");
}

void CheckRecurrent(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor x = arguments.tensor("input");
  if (!x.defined() || schema.overload_name() != "input") return;  // packed sequences
  const bool lstm = schema.name() == "aten::lstm", biases = arguments["has_biases"].toBool();
  std::vector<at::Tensor> states = arguments.tensors("hx");
  if (!lstm) states = {arguments.tensor("hx")};
  const std::vector<at::Tensor> weights = arguments.tensors("params");
  const int64_t directions = arguments["bidirectional"].toBool() ? 2 : 1;
  const int64_t cells = arguments["num_layers"].toInt() * directions;
  const size_t plain = biases ? 4 : 2, each = cells > 0 ? weights.size() / cells : 0;
  Require(x.dim() == 3 && states.size() == (lstm ? 2U : 1U), "an input of three dimensions and its states");
  Require(each * cells == weights.size() && (each == plain || each == plain + 1), "the number of weights");
  const int64_t gates = lstm ? 4 : schema.name() == "aten::gru" ? 3 : 1;
  const int64_t batch = x.size(arguments["batch_first"].toBool() ? 0 : 1), outputs = states[0].size(-1);
  const int64_t units = lstm ? states[1].size(-1) : outputs;
  for (const at::Tensor& state : states) {
    Require(state.dim() == 3 && state.size(0) == cells && state.size(1) == batch, "states do not fit");
  }
  for (int64_t cell = 0; cell < cells; ++cell) {
    const int64_t inputs = cell < directions ? x.size(2) : directions * outputs;
    CheckWeights({gates, inputs, units, outputs}, std::span(weights).subspan(cell * each, each), biases);
  }
}

void CheckSegments(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor data = arguments.tensor("data");
  const at::Tensor lengths = arguments.tensor("lengths"), offsets = arguments.tensor("offsets");
  const int64_t axis = at::maybe_wrap_dim(arguments["axis"].toInt(), data.dim());
  const at::Tensor& given = lengths.defined() ? lengths : offsets;
  Require(given.defined() && given.dim() == axis + 1, "lengths or offsets along the axis are needed");
  const std::vector<int64_t> numbers = NumbersOf(given);
  const int64_t line = std::max<int64_t>(1, given.size(axis));
  int64_t end = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (static_cast<int64_t>(i) % line == 0) end = 0;
    if (lengths.defined() && numbers[i] > data.size(axis)) end = -1;
    const int64_t next = lengths.defined() ? end + numbers[i] : numbers[i];
    Require(end >= 0 && next >= end && next <= data.size(axis), "segments leave the data");
    end = next;
  }
}

// Targets behind the length of their line may be anything.
void CheckTargets(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor scores = arguments.tensor("log_probs"), targets = arguments.tensor("targets");
  const c10::IValue& given = arguments["target_lengths"];
  const std::vector<int64_t> lengths = given.isTensor() ? NumbersOf(given.toTensor()) : given.toIntVector();
  Require(scores.dim() >= 2 && targets.dim() <= 2, "scores of two dimensions or more are needed");
  const std::vector<int64_t> numbers = NumbersOf(targets);
  const bool lines = targets.dim() == 2;
  size_t at = 0;
  for (size_t line = 0; line < lengths.size(); ++line) {
    if (lines) at = line * targets.size(1);
    Require(lengths[line] >= 0 && (!lines || lengths[line] <= targets.size(1)), "a target is too long");
    for (int64_t i = 0; i < lengths[line]; ++i, ++at) {
      Require(at < numbers.size() && numbers[at] >= 0 && numbers[at] < scores.size(-1),
              "a target is no class");
    }
  }
}

void CheckPivots(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const int64_t n = arguments.tensor("LD").size(-1);
  for (const int64_t pivot : NumbersOf(arguments.tensor("pivots")))
    Require(pivot != 0 && pivot >= -n && pivot <= n, "a pivot is no row");
}

void CheckSamples(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const at::Tensor samples = Named(schema, stack).tensor("random_samples");
  if (samples.numel() == 0) return;
  Require(samples.ge(0).logical_and(samples.le(1)).all().item<bool>(), "samples lie between 0 and 1");
}

// The frames that `unfold` takes of a tensor of these sizes.
void CheckFrames(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor frames = arguments.tensor("grad_in");
  std::vector<int64_t> sizes = arguments["input_sizes"].toIntVector();
  const int64_t size = arguments["size"].toInt(), step = arguments["step"].toInt();
  const int64_t rank = static_cast<int64_t>(sizes.size()), dim = arguments["dim"].toInt();
  Require(rank > 0 && dim >= -rank && dim < rank && size > 0 && step > 0, "there is no such dimension");
  int64_t& length = sizes[dim < 0 ? dim + rank : dim];
  Require(length >= size, "a frame is longer than the line");
  length = (length - size) / step + 1;
  sizes.push_back(size);
  Require(frames.sizes() == at::IntArrayRef(sizes), "the frames are not those of such a tensor");
}

void CheckProbabilities(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  for (const char* name : {"self", "target"}) {
    const at::Tensor x = arguments.tensor(name);
    Require(x.ge(0).logical_and(x.le(1)).all().item<bool>(), "probabilities lie between 0 and 1");
  }
}

// Integers of `index` from `least` to below `size`.
void RequireWithin(const at::Tensor& index, int64_t least, int64_t size) {
  if (!index.defined() || !at::isIntegralType(index.scalar_type(), /*includeBool=*/false)) return;
  const bool within = index.ge(least).logical_and(index.lt(size)).all().item<bool>();
  Require(within, fmt::format("an index is not within the {} elements of its dimension", size));
}

void CheckIndex(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor self = arguments.tensor("self");
  const int64_t dim = arguments["dim"].isInt() ? arguments["dim"].toInt() : 0;
  if (self.dim() == 0 || dim < -self.dim() || dim >= self.dim()) return;
  RequireWithin(arguments.tensor("index"), 0, self.size(dim));
}

void CheckEmbedding(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  RequireWithin(arguments.tensor("indices"), 0, arguments.tensor("weight").size(0));
}

// Targets that are numbers of classes, or none that counts.
void CheckClasses(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor self = arguments.tensor("self"), target = arguments.tensor("target");
  if (self.dim() == 0 || !at::isIntegralType(target.scalar_type(), /*includeBool=*/false)) return;
  const at::Tensor counted = target.masked_fill(target == arguments["ignore_index"].toInt(), 0);
  RequireWithin(counted, 0, self.size(self.dim() == 1 ? 0 : 1));
}

// A list of indices, one a dimension, some of which are missing.
void CheckIndices(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const Named arguments(schema, stack);
  const at::Tensor self = arguments.tensor("self");
  const c10::List<c10::IValue> indices = arguments["indices"].toList();
  int64_t dim = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    const c10::IValue value = indices.get(i);
    const at::Tensor index = value.isTensor() ? value.toTensor() : at::Tensor();
    const bool mask = index.defined() && !at::isIntegralType(index.scalar_type(), /*includeBool=*/false);
    if (mask) return;  // as many dimensions as it has
    if (dim < self.dim()) RequireWithin(index, -self.size(dim), self.size(dim));
    ++dim;
  }
}

}  // namespace

BoundsCheck BoundsCheckOf(std::string_view op) {
  static const std::unordered_map<std::string_view, BoundsCheck> kChecks = {
      {"aten::_fused_rms_norm", CheckRmsNorm},
      {"aten::_weight_norm", CheckWeightNorm},
      {"aten::_weight_norm_interface", CheckWeightNorm},
      {"aten::ctc_loss", CheckTargets},
      {"aten::fractional_max_pool2d", CheckSamples},
      {"aten::fractional_max_pool3d", CheckSamples},
      {"aten::gru", CheckRecurrent},
      {"aten::linalg_ldl_solve", CheckPivots},
      {"aten::lstm", CheckRecurrent},
      {"aten::rnn_relu", CheckRecurrent},
      {"aten::rnn_tanh", CheckRecurrent},
      {"aten::scaled_dot_product_attention", CheckAttention},
      {"aten::segment_reduce", CheckSegments},
      {"aten::unfold_backward", CheckFrames},
  };
  const auto found = kChecks.find(op);
  if (found != kChecks.end()) return found->second;
  const bool channels = op.find("batch_norm") != op.npos || op.find("instance_norm") != op.npos;
  return channels ? CheckChannels : nullptr;
}

BoundsCheck TrapCheckOf(std::string_view op) {
  static const std::unordered_map<std::string_view, BoundsCheck> kChecks = {
      {"aten::_unsafe_index", CheckIndices},
      {"aten::binary_cross_entropy", CheckProbabilities},
      {"aten::cross_entropy_loss", CheckClasses},
      {"aten::nll_loss", CheckClasses},
      {"aten::nll_loss2d", CheckClasses},
      {"aten::nll_loss2d_forward", CheckClasses},
      {"aten::nll_loss_forward", CheckClasses},
      {"aten::nll_loss_nd", CheckClasses},
      {"aten::embedding", CheckEmbedding},
      {"aten::gather", CheckIndex},
      {"aten::index", CheckIndices},
      {"aten::index_add", CheckIndex},
      {"aten::index_copy", CheckIndex},
      {"aten::index_fill", CheckIndex},
      {"aten::index_put", CheckIndices},
      {"aten::index_put_", CheckIndices},
      {"aten::index_select", CheckIndex},
      {"aten::scatter", CheckIndex},
      {"aten::scatter_add", CheckIndex},
      {"aten::scatter_reduce", CheckIndex},
  };
  const auto found = kChecks.find(op);
  return found == kChecks.end() ? nullptr : found->second;
}

}  // namespace tritogen
