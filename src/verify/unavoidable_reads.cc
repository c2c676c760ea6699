#include "verify/unavoidable_reads.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

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

// An argument of one number for each of `count` dimensions, or one for all; `otherwise` where it is not
// given.
std::optional<std::vector<int64_t>> NumbersOf(const AtenStep& step, const std::string& name, size_t count,
                                              std::vector<int64_t> otherwise) {
  const Value* given = FindArgument(step, name);
  if (given == nullptr) return otherwise;
  const auto* list = std::get_if<Value::List>(&given->v);
  if (list == nullptr) return std::nullopt;  // padding="same"
  if (list->empty()) return otherwise;       // the stride of a pool
  if (list->size() != count && list->size() != 1) return std::nullopt;
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < count; ++i) {
    const auto* number = std::get_if<int64_t>(&(*list)[list->size() == 1 ? 0 : i].v);
    if (number == nullptr || *number < 0) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// Different elements of a line that windows of `taps` elements, `dilation` apart, see at `places` places.
int64_t Seen(int64_t line, int64_t places, int64_t taps, int64_t stride, int64_t padding, int64_t dilation) {
  constexpr int64_t kMost = int64_t{1} << 24;
  if (places * taps > kMost) return line;
  std::vector<bool> seen(line);
  for (int64_t place = 0; place < places; ++place) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t at = place * stride - padding + tap * dilation;
      if (at >= 0 && at < line) seen[at] = true;
    }
  }
  return std::ranges::count(seen, true);
}

// Elements of the input that a pool or a convolution, not a transposed one, sees through its windows; nothing
// for other calls. They may step over elements, or leave some at the end.
std::optional<int64_t> SeenThroughWindows(const Plan& plan, const AtenStep& step, std::string_view base) {
  const bool pool = base.starts_with("aten::max_pool") || base.starts_with("aten::avg_pool");
  const bool convolution = base.starts_with("aten::conv") && base.find("transpose") == base.npos;
  const Value* transposed = FindArgument(step, "transposed");
  if ((!pool && !convolution) || (transposed != nullptr && transposed->v != Value{false}.v))
    return std::nullopt;
  const auto* x = std::get_if<TensorRef>(&step.args[0].v);
  const auto* weight = pool || step.args.size() < 2 ? nullptr : std::get_if<TensorRef>(&step.args[1].v);
  if (x == nullptr || (convolution && weight == nullptr)) return std::nullopt;
  const std::vector<int64_t>&in = plan.tensors[x->id].sizes, &out = plan.tensors[step.outs[0]].sizes;
  std::vector<int64_t> taps;
  if (convolution) {
    const std::vector<int64_t>& of = plan.tensors[weight->id].sizes;
    if (of.size() < 3) return std::nullopt;
    taps.assign(of.begin() + 2, of.end());
  } else {
    const size_t digit = base.find_first_of("123");  // max_pool2d, max_pool2d_with_indices
    if (digit == base.npos) return std::nullopt;
    const size_t dimensions = base[digit] - '0';
    const auto given = NumbersOf(step, "kernel_size", dimensions, {});
    if (!given || given->empty()) return std::nullopt;
    taps = *given;
  }
  const size_t count = taps.size();
  if (in.size() < count || out.size() != in.size()) return std::nullopt;
  const std::vector<int64_t> ones(count, 1);
  const auto stride = NumbersOf(step, "stride", count, pool ? taps : ones);
  const auto padding = NumbersOf(step, "padding", count, std::vector<int64_t>(count, 0));
  const auto dilation = NumbersOf(step, "dilation", count, ones);
  if (!stride || !padding || !dilation) return std::nullopt;
  int64_t elements = 1;
  for (size_t d = 0; d < in.size() - count; ++d) elements *= in[d];
  for (size_t i = 0; i < count; ++i) {
    const size_t d = in.size() - count + i;
    elements *= Seen(in[d], out[d], taps[i], (*stride)[i], (*padding)[i], (*dilation)[i]);
  }
  return elements;
}

// Elements of an argument that the call reads, at most.
int64_t ReadBy(const Plan& plan, const AtenStep& step, TensorId id) {
  const std::string_view base = WithoutOverload(step.op);
  const int64_t all = Distinct(plan.tensors[id]);
  auto is = [&](const Value* value) { return value != nullptr && value->v == Value{TensorRef{id}}.v; };
  if (base.starts_with("aten::scatter") && is(FindArgument(step, "src"))) {
    const TensorId places = TensorArgument(step, "index");
    if (places != kNoTensor) return std::min(all, plan.tensors[places].numel());
  }
  if (step.args.empty() || !is(&step.args[0]) || FirstResult(step) == kNoTensor) return all;
  if (Samples(base)) return std::min(all, plan.tensors[step.outs[0]].numel());
  return std::min(all, SeenThroughWindows(plan, step, base).value_or(all));
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
