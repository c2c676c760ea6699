#include "verify/unavoidable_reads.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/rounding.h"
#include "plan/visit.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// Different elements that a tensor shows, at most: one of an expanded dimension, no more than lie in its
// span.
int64_t Distinct(const TensorMeta& meta) {
  int64_t elements = 1;
  for (size_t i = 0; i < meta.sizes.size(); ++i)
    if (meta.strides[i] != 0) elements *= meta.sizes[i];
  return std::min(elements, meta.Span());
}

// Of their first argument these are taken to read at most as many elements as they give, though those that
// interpolate read a few for each.
bool Samples(std::string_view base) {
  constexpr std::array<std::string_view, 10> kOps = {
      "aten::index", "aten::index_select", "aten::gather",         "aten::embedding",
      "aten::take",  "aten::trace",        "aten::take_along_dim", "aten::constant_pad_nd",
      "aten::pad",   "aten::_unsafe_index"};
  return OneOf(base, kOps) || base.starts_with("aten::upsample_") || base.starts_with("aten::_upsample_") ||
         base.starts_with("aten::grid_sampler") || base.starts_with("aten::max_unpool");
}

// Elements of a pool's window; nothing for other calls. It may step over elements, or leave some at the end.
std::optional<int64_t> PoolWindow(const AtenStep& step, std::string_view base) {
  if (!base.starts_with("aten::max_pool") && !base.starts_with("aten::avg_pool")) return std::nullopt;
  const Value* given = FindArgument(step, "kernel_size");
  const auto* sizes = given == nullptr ? nullptr : std::get_if<Value::List>(&given->v);
  if (sizes == nullptr) return std::nullopt;
  int64_t window = 1;
  for (const Value& size : *sizes) {
    const auto* number = std::get_if<int64_t>(&size.v);
    if (number == nullptr || *number < 1) return std::nullopt;
    window *= *number;
  }
  return window;
}

// The same of what a convolution reads of its input for each of its results' places: all channels.
std::optional<int64_t> ConvolutionWindow(const Plan& plan, const AtenStep& step, std::string_view base) {
  if (!base.starts_with("aten::conv") || base.find("transpose") != base.npos || step.args.size() < 2)
    return std::nullopt;
  const Value* transposed = FindArgument(step, "transposed");
  if (transposed != nullptr && transposed->v != Value{false}.v) return std::nullopt;
  const auto* x = std::get_if<TensorRef>(&step.args[0].v);
  const auto* weight = std::get_if<TensorRef>(&step.args[1].v);
  if (x == nullptr || weight == nullptr) return std::nullopt;
  const std::vector<int64_t>&in = plan.tensors[x->id].sizes, &of = plan.tensors[weight->id].sizes;
  if (in.size() != of.size() || in.size() < 3 || of[0] == 0 || of[1] == 0) return std::nullopt;
  const int64_t places = plan.tensors[weight->id].numel() / (of[0] * of[1]);
  return CeilDiv(in[1] * places, of[0]);  // for each of a place's results
}

// Elements of an argument that the call reads, at most.
int64_t ReadBy(const Plan& plan, const AtenStep& step, TensorId id) {
  const std::string_view base = WithoutOverload(step.op);
  const int64_t all = Distinct(plan.tensors[id]);
  auto is = [&](const Value* value) { return value != nullptr && value->v == Value{TensorRef{id}}.v; };
  if (base.starts_with("aten::scatter") && is(FindArgument(step, "src"))) {
    const Value* index = FindArgument(step, "index");
    const auto* places = index == nullptr ? nullptr : std::get_if<TensorRef>(&index->v);
    if (places != nullptr) return std::min(all, plan.tensors[places->id].numel());
  }
  if (step.args.empty() || !is(&step.args[0]) || step.outs.empty() || step.outs[0] == kNoTensor) return all;
  auto window = Samples(base) ? std::optional<int64_t>(1) : PoolWindow(step, base);
  if (!window) window = ConvolutionWindow(plan, step, base);
  if (window) return std::min(all, plan.tensors[step.outs[0]].numel() * *window);
  return all;
}

// The call gives its argument's elements, or a function of each, in as many places of new memory.
bool Maps(const Plan& plan, const AtenStep& step, TensorId id) {
  if (KindOf(plan, step) != OpKind::kLayout && !TraitsOf(step.op).pointwise) return false;
  if (!WrittenArguments(step).empty() || step.outs.size() != 1 || step.outs[0] == kNoTensor) return false;
  const TensorMeta& meta = plan.tensors[id];
  return Distinct(meta) == meta.numel() && plan.tensors[step.outs[0]].numel() == meta.numel();
}

}  // namespace

double UnavoidableReads(const Plan& plan, const Flow& flow, TensorId input) {
  const TensorMeta& whole = plan.tensors[input];
  auto size = [&](TensorId id) { return static_cast<double>(DtypeSize(plan.tensors[id].dtype)); };
  // Storages that hold the input or a map of it, and how many of its bytes one byte there stands for.
  std::map<StorageId, double> scale = {{whole.storage, 1.0}};
  double most = 0;
  auto read = [&](TensorId id, int64_t elements) {
    const auto known = scale.find(plan.tensors[id].storage);
    if (known != scale.end()) most = std::max(most, static_cast<double>(elements) * size(id) * known->second);
  };
  for (size_t i = 0; i < plan.run.size(); ++i) {
    if (!flow.run[i]) continue;
    const auto* step = std::get_if<AtenStep>(&plan.run[i]);
    if (step == nullptr) {
      ForEachUse(plan.run[i], [&](TensorId id) { read(id, Distinct(plan.tensors[id])); });
      continue;
    }
    if (KindOf(plan, *step) == OpKind::kView) continue;
    for (const TensorId id : ReadArguments(*step)) {
      const auto known = scale.find(plan.tensors[id].storage);
      if (known == scale.end()) continue;
      if (Maps(plan, *step, id)) {
        const TensorId out = step->outs[0];
        if (plan.tensors[out].storage != known->first)  // else it is a view after all
          scale.emplace(plan.tensors[out].storage, known->second * size(id) / size(out));
      } else {
        read(id, ReadBy(plan, *step, id));
      }
    }
  }
  ForEachTensor(plan.outputs, [&](TensorId id) {  // a view of the input itself is read by nobody
    if (plan.tensors[id].storage != whole.storage) read(id, Distinct(plan.tensors[id]));
  });
  return std::min(most, static_cast<double>(whole.numel()) * size(input));
}

}  // namespace tritogen
