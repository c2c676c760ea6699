#include "verify/budget_index.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "device/aten_dtype.h"
#include "plan/visit.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

struct IndexOp {
  std::string_view op;
  size_t result;         // which result holds the indices
  bool dim_may_be_none;  // then the tensor is flattened
  bool so_far = false;
};
constexpr std::array<IndexOp, 13> kIndexOps = {{
    {"aten::argmax", 0, true},
    {"aten::argmin", 0, true},
    {"aten::max.dim", 1, false},
    {"aten::min.dim", 1, false},
    {"aten::topk", 1, false},
    {"aten::sort", 1, false},
    {"aten::sort.stable", 1, false},
    {"aten::argsort", 0, false},
    {"aten::argsort.stable", 0, false},
    {"aten::kthvalue", 1, false},
    {"aten::median.dim", 1, false},
    {"aten::cummax", 1, false, true},
    {"aten::cummin", 1, false, true},
}};

std::optional<IndexSource> SourceOf(const Plan& plan, const AtenStep& step, TensorId output) {
  const auto row =
      std::find_if(kIndexOps.begin(), kIndexOps.end(), [&](const IndexOp& r) { return r.op == step.op; });
  if (row == kIndexOps.end() || step.outs.size() <= row->result || step.outs[row->result] != output)
    return std::nullopt;
  const auto* self = step.args.empty() ? nullptr : std::get_if<TensorRef>(&step.args[0].v);
  if (self == nullptr) return std::nullopt;
  // Of equal values an extremum is the first one, as PyTorch documents.
  const std::string_view base = WithoutOverload(step.op);
  const bool first =
      base == "aten::argmax" || base == "aten::argmin" || base == "aten::max" || base == "aten::min";
  if (!IsFloating(plan.tensors[self->id].dtype) && (first || row->so_far)) return std::nullopt;
  const auto rank = static_cast<int64_t>(plan.tensors[self->id].sizes.size());
  if (rank == 0) return std::nullopt;
  const Value* dim = FindArgument(step, "dim");
  const auto* number = dim == nullptr ? nullptr : std::get_if<int64_t>(&dim->v);
  if (number == nullptr && row->dim_may_be_none)
    return IndexSource{.values = self->id, .dim = std::nullopt, .first = first};
  const int64_t at = number == nullptr ? -1 : *number;  // the default of topk, sort and argsort
  const Value* stable = FindArgument(step, "stable");
  const auto* keeps_order = stable == nullptr ? nullptr : std::get_if<bool>(&stable->v);
  return IndexSource{.values = self->id,
                     .dim = at < 0 ? at + rank : at,
                     .so_far = row->so_far,
                     .stable = keeps_order != nullptr && *keeps_order,
                     .first = first};
}

// In the memory of an input that no call of forward writes.
bool IsGiven(const Plan& plan, TensorId id) {
  const StorageId storage = plan.tensors[id].storage;
  const auto here = [&](TensorId leaf) { return plan.tensors[leaf].storage == storage; };
  return std::ranges::any_of(TensorLeaves(plan.inputs), here) && !WrittenStorages(plan).contains(storage);
}

}  // namespace

std::optional<IndexSource> IndexSourceOf(const Plan& plan, TensorId output) {
  for (size_t i = plan.run.size(); i-- > 0;) {
    const auto* step = std::get_if<AtenStep>(&plan.run[i]);
    if (step == nullptr || std::find(step->outs.begin(), step->outs.end(), output) == step->outs.end())
      continue;
    if (WithoutOverload(step->op) == "aten::_to_copy" && !step->args.empty()) {
      const auto* from = std::get_if<TensorRef>(&step->args[0].v);
      if (from == nullptr || IsFloating(plan.tensors[from->id].dtype)) return std::nullopt;
      output = from->id;
      continue;
    }
    auto source = SourceOf(plan, *step, output);
    if (source)
      source->given = !IsFloating(plan.tensors[source->values].dtype) || IsGiven(plan, source->values);
    return source;
  }
  return std::nullopt;
}

Comparison CompareIndices(const IndexSource& source, const Expectation& values, const Expectation& indices,
                          const at::Tensor& got) {
  const at::Tensor v = values.exact().cpu().to(at::kDouble);
  int64_t outer = 1, length = v.numel(), inner = 1;
  if (source.dim) {
    length = v.size(*source.dim);
    for (int64_t d = 0; d < v.dim(); ++d)
      (d < *source.dim ? outer : inner) *= d == *source.dim ? 1 : v.size(d);
  }
  const at::Tensor want = indices.exact().cpu().to(at::kLong).contiguous(),
                   have = got.cpu().to(at::kLong).contiguous();
  const int64_t per_slice = outer * inner > 0 ? have.numel() / (outer * inner) : 0;
  const double* data = v.const_data_ptr<double>();
  const int64_t *w = want.const_data_ptr<int64_t>(), *h = have.const_data_ptr<int64_t>();
  // Fp64 rounds, too: interpolation may give 1e-17 where the answer is 0, and that is no order.
  const double least =
      std::max(values.least(), 2 * UnitRoundoff(at::kDouble) * std::min(values.scale(), 1.0));
  Comparison result;
  std::vector<bool> seen(length);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      seen.assign(length, false);
      for (int64_t k = 0; k < per_slice; ++k) {
        const int64_t at = (o * per_slice + k) * inner + i;
        bool valid = h[at] >= 0 && h[at] < length && (source.so_far ? h[at] <= k : !seen[h[at]]);
        if (valid && source.stable && k > 0 && h[at] < h[at - inner])
          valid = data[(o * length + h[at]) * inner + i] != data[(o * length + h[at - inner]) * inner + i];
        if (valid && source.first && h[at] > w[at])
          valid = data[(o * length + h[at]) * inner + i] != data[(o * length + w[at]) * inner + i];
        double error = std::numeric_limits<double>::infinity(), allowed = 0;
        if (valid) {
          seen[h[at]] = true;
          const int64_t expected = (o * length + w[at]) * inner + i,
                        chosen = (o * length + h[at]) * inner + i;
          error =
              h[at] == w[at] || data[expected] == data[chosen] ? 0 : std::abs(data[expected] - data[chosen]);
          if (error > 0 && !source.given) allowed = std::max(values.AllowedAt(expected), least);
        }
        if (error <= allowed) continue;
        result.ok = false;
        result.error = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
        result.budget = allowed;
        result.index = at;
        result.expected = static_cast<double>(w[at]);
        result.got = static_cast<double>(h[at]);
        return result;
      }
    }
  }
  return result;
}

}  // namespace tritogen
