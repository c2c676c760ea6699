#include "verify/work.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "plan/visit.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

using Metas = std::vector<const TensorMeta*>;

struct Call {
  const AtenStep& step;
  Metas in;   // tensor arguments in order
  Metas out;  // defined results
};

double Count(const TensorMeta* meta) {
  return static_cast<double>(meta->numel());
}
double Total(const Metas& metas) {
  double total = 0;
  for (const TensorMeta* meta : metas) total += Count(meta);
  return total;
}
double Last(const TensorMeta* meta) {
  return meta->sizes.empty() ? 1 : static_cast<double>(meta->sizes.back());
}

// What the tensors of a call could hold at most if it were one contraction: for A[m,k] B[k,n] → C[m,n] the
// product of the three counts is (m n k)². Matrix inverses and the like (n³ from n²) come out right as well.
// It is what operators without a formula are charged, so that an exotic operator never hides work.
double ContractionBound(const Call& call) {
  std::vector<double> counts;
  for (const TensorMeta* meta : call.in) counts.push_back(Count(meta));
  std::sort(counts.rbegin(), counts.rend());
  const double a = counts.empty() ? 0 : counts[0];
  const double b = counts.size() < 2 ? a : counts[1];
  return std::max(2 * std::sqrt(a * b * std::max(1.0, Total(call.out))), Total(call.out));
}

// Matrix products: 2 m n k, as torch.utils.flop_counter and everybody else counts them (a fused multiply-add
// is two). `a` is the argument whose last dimension is contracted.
double Product(const Call& call, size_t a) {
  if (call.in.size() <= a || call.out.empty()) return ContractionBound(call);
  return 2 * Count(call.out[0]) * Last(call.in[a]);
}

// Convolutions: 2 × outputs × (weights per output channel); transposed: 2 × inputs × (weights per input
// channel). The weight is [out, in / groups, …], transposed [in, out / groups, …].
double Convolution(const Call& call, bool transposed) {
  if (call.in.size() < 2 || call.out.empty() || call.in[1]->sizes.empty()) return ContractionBound(call);
  const double per_channel = Count(call.in[1]) / std::max<double>(1, call.in[1]->sizes[0]);
  return 2 * Count(transposed ? call.in[0] : call.out[0]) * per_channel;
}

bool IsTransposed(const AtenStep& step) {  // aten::convolution(input, weight, bias, stride, padding,
                                           // dilation, transposed, …)
  if (step.args.size() <= 6) return false;
  const auto* flag = std::get_if<bool>(&step.args[6].v);
  return flag != nullptr && *flag;
}

// Attention: q kᵀ and p v, 2 b h s t d each, and 5 per score for the softmax (max, subtract, exp, sum,
// divide).
double Attention(const Call& call) {
  if (call.in.size() < 3 || call.in[1]->sizes.size() < 2) return ContractionBound(call);
  const auto& k = call.in[1]->sizes;
  const double keys = static_cast<double>(k[k.size() - 2]);
  const double rows = Count(call.in[0]) / std::max(1.0, Last(call.in[0]));
  return 2 * rows * keys * (Last(call.in[0]) + Last(call.in[2])) + 5 * rows * keys;
}

using Formula = std::function<double(const Call&)>;
Formula PerInput(double flops) {
  return [flops](const Call& call) { return call.in.empty() ? 0 : flops * Count(call.in[0]); };
}
Formula PerOutput(double flops) {
  return [flops](const Call& call) { return flops * Total(call.out); };
}
Formula ProductOf(size_t a) {
  return [a](const Call& call) { return Product(call, a); };
}

double Sort(const Call& call) {  // n log n comparisons
  const double n = Total(call.in);
  return n * std::log2(std::max(2.0, n));
}

// Positions of the arguments that a product multiplies; none of other calls.
struct Factors {
  size_t first = 0, count = 0;
};

struct Charge {
  Formula flops;
  Factors factors;
};

const std::unordered_map<std::string_view, Charge>& Charges() {
  static const std::unordered_map<std::string_view, Charge> kCharges = [] {
    std::unordered_map<std::string_view, Charge> map;
    Factors factors{0, 2};
    auto set = [&](std::initializer_list<std::string_view> names, const Formula& formula) {
      for (std::string_view name : names) map[name] = {formula, factors};
    };
    set({"aten::mm", "aten::bmm", "aten::matmul", "aten::mv", "aten::dot", "aten::linear", "aten::inner"},
        ProductOf(0));
    set({"aten::convolution", "aten::_convolution"},
        [](const Call& call) { return Convolution(call, IsTransposed(call.step)); });
    set({"aten::conv1d", "aten::conv2d", "aten::conv3d"},
        [](const Call& call) { return Convolution(call, false); });
    set({"aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"},
        [](const Call& call) { return Convolution(call, true); });
    factors = {1, 2};
    set({"aten::addmm", "aten::baddbmm", "aten::addmv", "aten::_addmm_activation", "aten::addmm_"},
        ProductOf(1));
    factors = {0, 3};
    set({"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention",
         "aten::_scaled_dot_product_efficient_attention", "aten::_scaled_dot_product_attention_math",
         "aten::_scaled_dot_product_cudnn_attention", "aten::_scaled_dot_product_flash_attention_for_cpu",
         "aten::_scaled_dot_product_fused_attention_overrideable"},
        Attention);
    factors = {};
    // Reductions: one operation per element that is read.
    set({"aten::sum", "aten::mean", "aten::prod", "aten::max", "aten::min", "aten::amax", "aten::amin",
         "aten::argmax", "aten::argmin", "aten::any", "aten::all", "aten::cumsum", "aten::cumprod",
         "aten::cummax", "aten::cummin", "aten::aminmax", "aten::count_nonzero", "aten::trace"},
        PerInput(1));
    // Square, add (norms); mean and squared distance (variances).
    set({"aten::norm", "aten::linalg_vector_norm", "aten::frobenius_norm"}, PerInput(2));
    set({"aten::var", "aten::std", "aten::var_mean", "aten::std_mean"}, PerInput(4));
    // Max, subtract, exp, sum, divide.
    set({"aten::softmax", "aten::_softmax", "aten::log_softmax", "aten::_log_softmax", "aten::logsumexp"},
        PerInput(5));
    // Mean 1, variance 3, normalise 2, affine 2.
    set({"aten::layer_norm", "aten::native_layer_norm", "aten::group_norm", "aten::native_group_norm",
         "aten::batch_norm", "aten::native_batch_norm", "aten::_native_batch_norm_legit",
         "aten::_native_batch_norm_legit_no_training", "aten::cudnn_batch_norm",
         "aten::_batch_norm_with_update", "aten::instance_norm", "aten::rms_norm", "aten::_fused_rms_norm"},
        PerInput(8));
    // Pooling reads each window's element once; overlapping windows are a small factor and the same for both
    // sides.
    set({"aten::max_pool1d", "aten::max_pool2d", "aten::max_pool3d", "aten::max_pool2d_with_indices",
         "aten::max_pool3d_with_indices", "aten::avg_pool1d", "aten::avg_pool2d", "aten::avg_pool3d",
         "aten::adaptive_avg_pool1d", "aten::adaptive_avg_pool2d", "aten::_adaptive_avg_pool2d",
         "aten::adaptive_avg_pool3d", "aten::_adaptive_avg_pool3d", "aten::adaptive_max_pool2d"},
        PerInput(1));
    set({"aten::cross_entropy_loss", "aten::nll_loss", "aten::nll_loss_forward", "aten::mse_loss",
         "aten::kl_div", "aten::smooth_l1_loss", "aten::huber_loss", "aten::binary_cross_entropy",
         "aten::binary_cross_entropy_with_logits", "aten::hinge_embedding_loss", "aten::l1_loss"},
        PerInput(5));
    // Adds all that it is given, however few places it adds to.
    set({"aten::scatter_add", "aten::scatter_add_", "aten::scatter_reduce", "aten::scatter_reduce_",
         "aten::index_add", "aten::index_add_", "aten::index_reduce", "aten::index_reduce_"},
        [](const Call& call) { return Total(call.in); });
    set({"aten::sort", "aten::topk", "aten::argsort", "aten::kthvalue", "aten::median", "aten::msort"}, Sort);
    // Moves with a change of place or dtype, and pointwise operators that have no tag.
    set({"aten::cat",
         "aten::stack",
         "aten::constant_pad_nd",
         "aten::pad",
         "aten::gather",
         "aten::index",
         "aten::index_select",
         "aten::embedding",
         "aten::flip",
         "aten::roll",
         "aten::repeat",
         "aten::scatter",
         "aten::tril",
         "aten::triu",
         "aten::one_hot",
         "aten::_to_copy",
         "aten::to",
         "aten::copy_",
         "aten::copy",
         "aten::masked_fill",
         "aten::masked_fill_",
         "aten::dropout",
         "aten::native_dropout",
         "aten::bernoulli",
         "aten::upsample_nearest2d",
         "aten::upsample_bilinear2d",
         "aten::pixel_shuffle",
         "aten::reflection_pad2d",
         "aten::replication_pad2d",
         "aten::repeat_interleave",
         "aten::where",
         "aten::silu",
         "aten::gelu",
         "aten::mish",
         "aten::relu",
         "aten::sigmoid",
         "aten::tanh"},
        PerOutput(1));
    return map;
  }();
  return kCharges;
}

// Whether some ATen call of set-up or run is such.
template <typename Is>
bool AnyCall(const Plan& plan, const Is& is) {
  const auto step_is = [&](const Step& step) {
    const auto* aten = std::get_if<AtenStep>(&step);
    return aten != nullptr && is(*aten);
  };
  return std::any_of(plan.setup.begin(), plan.setup.end(), step_is) ||
         std::any_of(plan.run.begin(), plan.run.end(), step_is);
}

// These only move data, and where to does not depend on data.
bool Moves(std::string_view op) {
  static const std::set<std::string_view> kMoves = {"aten::cat",
                                                    "aten::concat",
                                                    "aten::constant_pad_nd",
                                                    "aten::flip",
                                                    "aten::hstack",
                                                    "aten::pad",
                                                    "aten::pixel_shuffle",
                                                    "aten::pixel_unshuffle",
                                                    "aten::reflection_pad1d",
                                                    "aten::reflection_pad2d",
                                                    "aten::reflection_pad3d",
                                                    "aten::repeat",
                                                    "aten::repeat_interleave",
                                                    "aten::replication_pad1d",
                                                    "aten::replication_pad2d",
                                                    "aten::replication_pad3d",
                                                    "aten::roll",
                                                    "aten::rot90",
                                                    "aten::slice_scatter",
                                                    "aten::stack",
                                                    "aten::tile",
                                                    "aten::vstack"};
  return kMoves.contains(op);
}

// f(call) for each ATen call of `run` that can reach an output.
template <typename F>
void ForEachLive(const Plan& plan, const Flow& flow, const F& f) {
  for (size_t i = 0; i < plan.run.size(); ++i) {
    const auto* aten = std::get_if<AtenStep>(&plan.run[i]);
    if (aten != nullptr && flow.run[i]) f(*aten);
  }
}

// Each element read once and written once.
Work CopyingWork(const Plan& plan, const Flow& flow) {
  Work total;
  ForEachLive(plan, flow, [&](const AtenStep& step) {
    if (KindOf(plan, step) != OpKind::kLayout || FirstResult(step) == kNoTensor) return;
    const TensorMeta& to = plan.tensors[step.outs[0]];
    total += {Count(&to), 2 * Count(&to) * static_cast<double>(DtypeSize(to.dtype))};
  });
  return total;
}

double Ratio(double part, double whole) {
  if (whole <= 0) return part > 0 ? 1 : 0;
  return std::clamp(part / whole, 0.0, 1.0);
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  flops += other.flops;
  bytes += other.bytes;
  return *this;
}

Work WorkOf(const Plan& plan, const AtenStep& step) {
  if (KindOf(plan, step) != OpKind::kCompute) return {};
  Call call{step, {}, {}};
  Work work;
  auto bytes = [](const TensorMeta& meta) {
    return Count(&meta) * static_cast<double>(DtypeSize(meta.dtype));
  };
  ForEachUse(Step(step), [&](TensorId id) { call.in.push_back(&plan.tensors[id]); });
  for (TensorId id : step.outs) {
    if (id != kNoTensor) call.out.push_back(&plan.tensors[id]);
  }
  for (const TensorMeta* meta : call.in) work.bytes += bytes(*meta);
  for (const TensorMeta* meta : call.out) work.bytes += bytes(*meta);
  const auto charge = Charges().find(WithoutOverload(step.op));
  if (charge != Charges().end()) {
    work.flops = charge->second.flops(call);
  } else {
    work.flops = TraitsOf(step.op).pointwise ? Total(call.out) : ContractionBound(call);
  }
  return work;
}

Work AtenWork(const Plan& plan, const Flow& flow) {
  Work total;
  ForEachLive(plan, flow, [&](const AtenStep& step) { total += WorkOf(plan, step); });
  return total;
}

Work MovingWork(const Plan& plan, const Flow& flow) {
  Work total;
  ForEachLive(plan, flow, [&](const AtenStep& step) {
    if (Moves(WithoutOverload(step.op))) total += WorkOf(plan, step);
  });
  return total;
}

bool MovesOrComputes(const Plan& plan, const Flow& flow) {
  bool found = false;
  ForEachLive(plan, flow, [&](const AtenStep& step) {
    const OpKind kind = KindOf(plan, step);
    found |= kind == OpKind::kCompute || kind == OpKind::kLayout;
  });
  return found;
}

std::vector<TensorId> FloatingFactors(const Plan& plan, const AtenStep& step) {
  const std::string_view op = WithoutOverload(step.op);
  std::vector<TensorId> factors;
  auto add = [&](TensorId id) {
    if (IsFloating(plan.tensors[id].dtype)) factors.push_back(id);
  };
  if (IsRecurrent(op)) {
    ForEachUse(Step(step), [&](TensorId id) {
      if (plan.tensors[id].sizes.size() > 1) add(id);  // biases are lines
    });
    return factors;
  }
  const auto charge = Charges().find(op);
  if (charge == Charges().end()) return factors;
  const auto [first, count] = charge->second.factors;
  for (size_t i = first; i < std::min(first + count, step.args.size()); ++i) {
    if (const auto* tensor = std::get_if<TensorRef>(&step.args[i].v)) add(tensor->id);
  }
  return factors;
}

std::vector<TensorId> Float32Factors(const Plan& plan, const AtenStep& step) {
  std::vector<TensorId> factors = FloatingFactors(plan, step);
  std::erase_if(factors, [&](TensorId id) { return plan.tensors[id].dtype != Dtype::kFloat32; });
  return factors;
}

bool IsAttention(const AtenStep& step) {
  return WithoutOverload(step.op) == "aten::scaled_dot_product_attention";
}

bool HasFloat32Factors(const Plan& plan, Fp32Precision contract) {
  return AnyCall(plan, [&](const AtenStep& step) {
    return AllowsTf32(contract, step.op) && !Float32Factors(plan, step).empty();
  });
}

bool MultipliesFloat32(const Plan& plan) {
  return AnyCall(plan, [&](const AtenStep& step) {
    if (KindOf(plan, step) != OpKind::kCompute) return false;
    bool float32 = false;
    ForEachUse(Step(step), [&](TensorId id) { float32 |= plan.tensors[id].dtype == Dtype::kFloat32; });
    const auto charge = Charges().find(WithoutOverload(step.op));
    return float32 &&
           (charge != Charges().end() ? charge->second.factors.count > 0 : !TraitsOf(step.op).pointwise);
  });
}

WorkShare ShareOf(const Work& reference, const Work& moves, const Plan& candidate,
                  const Flow& candidate_flow) {
  bool launches = false;
  for (size_t i = 0; i < candidate.run.size(); ++i) {
    launches |= candidate_flow.run[i] && std::holds_alternative<LaunchStep>(candidate.run[i]);
  }
  if (!launches) return {};
  Work aten = AtenWork(candidate, candidate_flow);
  const Work copies = CopyingWork(candidate, candidate_flow);
  aten += {std::min(copies.flops, moves.flops), std::min(copies.bytes, moves.bytes)};
  return {1 - Ratio(aten.flops, reference.flops), 1 - Ratio(aten.bytes, reference.bytes)};
}

}  // namespace tritogen
