#include "plan/plan.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tritogen {
namespace {

// f(byte) for where each element begins; those that share memory come once. No tensor is empty.
template <typename F>
void ForEachPlace(const TensorMeta& meta, const F& f) {
  const auto size = static_cast<int64_t>(DtypeSize(meta.dtype));
  std::vector<std::pair<int64_t, int64_t>> dims;  // bytes from one to the next, how many
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.sizes[i] > 1 && meta.strides[i] > 0) dims.emplace_back(meta.strides[i] * size, meta.sizes[i]);
  }
  std::vector<int64_t> index(dims.size(), 0);
  int64_t place = meta.offset * size;
  for (;;) {
    f(place);
    size_t d = 0;
    for (; d < dims.size(); ++d) {
      place += dims[d].first;
      if (++index[d] < dims[d].second) break;
      place -= dims[d].first * dims[d].second;
      index[d] = 0;
    }
    if (d == dims.size()) return;
  }
}

// The bytes that a tensor spans, from the first to behind the last.
std::pair<int64_t, int64_t> SpanOf(const TensorMeta& meta) {
  const auto size = static_cast<int64_t>(DtypeSize(meta.dtype));
  return {meta.offset * size, (meta.offset + meta.Span()) * size};
}

}  // namespace

int64_t TensorMeta::numel() const {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

int64_t TensorMeta::Span() const {
  if (numel() == 0) return 0;
  int64_t span = 1;
  for (size_t i = 0; i < sizes.size(); ++i) span += (sizes[i] - 1) * strides[i];
  return span;
}

bool TensorMeta::HoldsEachElement() const {
  if (numel() == 0) return true;
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1) dims.emplace_back(strides[i], sizes[i]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;  // of the dimensions so far
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

bool TensorMeta::Overlaps(const TensorMeta& other) const {
  if (storage != other.storage || numel() == 0 || other.numel() == 0) return false;
  const auto [begin, end] = SpanOf(*this);
  const auto [first, last] = SpanOf(other);
  if (end <= first || last <= begin) return false;
  // Sizes of elements are powers of two, and elements lie at multiples of them.
  const auto size = static_cast<int64_t>(DtypeSize(dtype)),
             others = static_cast<int64_t>(DtypeSize(other.dtype));
  const int64_t unit = std::min(size, others);
  std::vector<bool> taken((end - begin) / unit, false);
  ForEachPlace(*this, [&](int64_t place) {
    for (int64_t b = 0; b < size; b += unit) taken[(place + b - begin) / unit] = true;
  });
  bool shared = false;
  ForEachPlace(other, [&](int64_t place) {
    for (int64_t b = std::max(place, begin); b < std::min(place + others, end); b += unit)
      shared |= taken[(b - begin) / unit];
  });
  return shared;
}

}  // namespace tritogen
