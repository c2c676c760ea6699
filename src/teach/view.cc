#include "teach/view.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/error.h"

namespace tritogen::teach {
namespace {

// Indices of each of the view's dimensions that its guards let through: lo ≤ index < hi.
struct Range {
  int64_t lo, hi;
};
std::vector<Range> UsedRanges(const View& view) {
  std::vector<Range> ranges;
  for (int64_t size : view.sizes) ranges.push_back({0, size});
  for (const Guard& guard : view.guards) {
    Range& range = ranges[guard.dim];
    range = {std::max(range.lo, guard.lo), std::min(range.hi, guard.hi)};
  }
  return ranges;
}

}  // namespace

int64_t Product(const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

int64_t View::numel() const {
  return Product(sizes);
}

bool View::IsContiguous() const {
  return prim != kElementNumber && offset == 0 && guards.empty() && IsRowMajor(*this);
}

bool ReadAlike(const View& a, const View& b) {
  const auto digits = [](const View& view) {
    std::vector<Digit> all;
    for (int i = 0; i < view.rank(); ++i) all.push_back({view.sizes[i], view.strides[i]});
    return MergeDigits(all);
  };
  return a.prim == b.prim && a.offset == b.offset && a.guards.empty() && b.guards.empty() &&
         digits(a) == digits(b);
}

int64_t Reach(const View& view) {
  int64_t reach = std::abs(view.offset);
  for (int i = 0; i < view.rank(); ++i) reach += (view.sizes[i] - 1) * std::abs(view.strides[i]);
  return reach;
}

bool IsRowMajor(const View& view) {
  int64_t expected = 1;
  for (int i = view.rank() - 1; i >= 0; --i) {
    if (view.sizes[i] == 1) continue;
    if (view.strides[i] != expected) return false;
    expected *= view.sizes[i];
  }
  return true;
}

std::optional<int64_t> ConstantIndex(const View& view) {
  if (view.prim != kElementNumber || !view.guards.empty()) return std::nullopt;
  for (int i = 0; i < view.rank(); ++i) {
    if (view.sizes[i] != 1 && view.strides[i] != 0) return std::nullopt;
  }
  return view.offset;
}

std::vector<int64_t> ContiguousStrides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return strides;
}

View ContiguousView(PrimId prim, std::vector<int64_t> sizes) {
  std::vector<int64_t> strides = ContiguousStrides(sizes);
  return {prim, 0, std::move(sizes), std::move(strides), {}};
}

int64_t WrapDim(int64_t dim, int64_t rank) {
  int64_t wrapped = dim < 0 ? dim + rank : dim;
  TRITOGEN_CHECK(wrapped >= 0 && wrapped < std::max<int64_t>(rank, 1));
  return wrapped;
}

std::vector<bool> MarkedDims(const std::vector<int64_t>& dims, int64_t rank) {
  std::vector<bool> marked(rank, dims.empty());
  if (rank == 0) return marked;
  for (int64_t dim : dims) marked[WrapDim(dim, rank)] = true;
  return marked;
}

View Permute(const View& view, const std::vector<int64_t>& dims) {
  TRITOGEN_CHECK(dims.size() == view.sizes.size());
  View result{view.prim, view.offset, {}, {}, view.guards};
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = WrapDim(dims[i], view.rank());
    result.sizes.push_back(view.sizes[dim]);
    result.strides.push_back(view.strides[dim]);
    for (size_t g = 0; g < view.guards.size(); ++g) {
      if (view.guards[g].dim == dim) result.guards[g].dim = static_cast<int>(i);
    }
  }
  return result;
}

View ToTheEnd(const View& view, size_t first, size_t count) {
  std::vector<int64_t> order(view.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + static_cast<int64_t>(first),
              order.begin() + static_cast<int64_t>(first + count), order.end());
  return Permute(view, order);
}

View WithoutRepeats(View view) {
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.strides[i] == 0) view.sizes[i] = 1;
  }
  return view;
}

View Slice(const View& view, int64_t dim, int64_t start, int64_t length, int64_t step) {
  dim = WrapDim(dim, view.rank());
  TRITOGEN_CHECK(length >= 0 && start >= 0 && (length == 0 || start + (length - 1) * step < view.sizes[dim]));
  View result = view;
  result.offset += start * view.strides[dim];
  result.sizes[dim] = length;
  result.strides[dim] *= step;
  return result;
}

View Select(const View& view, int64_t dim, int64_t index) {
  dim = WrapDim(dim, view.rank());
  View result = Slice(view, dim, index, 1, 1);
  return Squeeze(result, dim);
}

View Unsqueeze(const View& view, int64_t dim) {
  dim = WrapDim(dim, view.rank() + 1);
  View result = view;
  result.sizes.insert(result.sizes.begin() + dim, 1);
  result.strides.insert(result.strides.begin() + dim, 0);
  return result;
}

View Squeeze(const View& view, int64_t dim) {
  dim = WrapDim(dim, view.rank());
  View result = view;
  if (view.sizes.empty() || view.sizes[dim] != 1) return result;
  result.sizes.erase(result.sizes.begin() + dim);
  result.strides.erase(result.strides.begin() + dim);
  return result;
}

View Expand(const View& view, const std::vector<int64_t>& sizes) {
  if (sizes == view.sizes) return view;
  TRITOGEN_CHECK(sizes.size() >= view.sizes.size() && view.guards.empty());
  View result{view.prim, view.offset, sizes, std::vector<int64_t>(sizes.size(), 0), {}};
  size_t lead = sizes.size() - view.sizes.size();
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    if (result.sizes[lead + i] == -1) result.sizes[lead + i] = view.sizes[i];
    if (view.sizes[i] == result.sizes[lead + i]) {
      result.strides[lead + i] = view.strides[i];
    } else {
      TRITOGEN_CHECK(view.sizes[i] == 1);
    }
  }
  return result;
}

std::vector<Digit> MergeDigits(const std::vector<Digit>& digits) {
  std::vector<Digit> merged;
  for (const Digit& digit : digits) {
    if (digit.size == 1) continue;
    if (!merged.empty() && merged.back().stride == digit.size * digit.stride) {
      merged.back() = {merged.back().size * digit.size, digit.stride};
    } else {
      merged.push_back(digit);
    }
  }
  return merged;
}

std::optional<View> Reshape(const View& view, const std::vector<int64_t>& sizes) {
  TRITOGEN_CHECK(Product(sizes) == view.numel() && view.guards.empty());
  View result{view.prim, view.offset, sizes, std::vector<int64_t>(sizes.size(), 0), {}};
  if (view.numel() == 0) return View{view.prim, view.offset, sizes, ContiguousStrides(sizes), {}};
  std::vector<Digit> blocks;  // the view as few dimensions
  for (int i = 0; i < view.rank(); ++i) blocks.push_back({view.sizes[i], view.strides[i]});
  blocks = MergeDigits(blocks);
  // Every new dimension must lie inside one block; walk both from the innermost.
  int64_t left = 1,
          stride = 0;  // of the present block: elements not yet covered, stride of the next dimension
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (left == 1) {
      TRITOGEN_CHECK(!blocks.empty());
      left = blocks.back().size;
      stride = blocks.back().stride;
      blocks.pop_back();
    }
    if (left % sizes[i] != 0) return std::nullopt;
    result.strides[i] = stride;
    stride *= sizes[i];
    left /= sizes[i];
  }
  return result;
}

std::optional<View> Compose(const View& outer, const View& inner) {
  if (!inner.guards.empty()) return std::nullopt;
  std::vector<Digit> dims;
  for (int i = 0; i < inner.rank(); ++i) dims.push_back({inner.sizes[i], inner.strides[i]});
  dims = MergeDigits(dims);
  std::vector<int64_t> step(dims.size()), at(dims.size()), last(dims.size());
  int64_t total = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    step[d] = total;
    total *= dims[d].size;
  }
  auto ranges = UsedRanges(outer);
  int64_t first = outer.offset;
  for (int j = 0; j < outer.rank(); ++j) first += ranges[j].lo * outer.strides[j];
  if (first < 0 || first >= total) return std::nullopt;
  View result{inner.prim, inner.offset, outer.sizes, std::vector<int64_t>(outer.sizes.size(), 0),
              outer.guards};
  for (size_t d = 0; d < dims.size(); ++d) {
    at[d] = last[d] = first / step[d] % dims[d].size;
    result.offset += at[d] * dims[d].stride;
  }
  for (int j = 0; j < outer.rank(); ++j) {
    int64_t count = ranges[j].hi - ranges[j].lo;
    if (count <= 1 || outer.strides[j] == 0) continue;
    // The dimension of the value that this index walks along.
    size_t d = 0;
    while (d < dims.size() && outer.strides[j] % step[d] != 0) ++d;
    if (d == dims.size() || outer.strides[j] < 0) return std::nullopt;
    int64_t pace = outer.strides[j] / step[d];
    last[d] += pace * (count - 1);
    if (last[d] >= dims[d].size) return std::nullopt;
    result.strides[j] = pace * dims[d].stride;
    result.offset -= ranges[j].lo * result.strides[j];
  }
  return result;
}

View SplitAlong(const View& outer, const View& inner) {
  if (!outer.guards.empty()) return outer;
  std::vector<Digit> dims;
  for (int i = 0; i < inner.rank(); ++i) dims.push_back({inner.sizes[i], inner.strides[i]});
  dims = MergeDigits(dims);
  View split{outer.prim, outer.offset, {}, {}, {}};
  for (int j = outer.rank(); j-- > 0;) {
    std::vector<Digit> parts = {{outer.sizes[j], outer.strides[j]}};
    int64_t step = 1;  // of the value's memory, along a dimension of inner
    for (size_t d = dims.size(); d-- > 0; step *= dims[d].size) {
      const auto [size, stride] = parts.back();
      if (stride <= 0 || stride % step != 0 || (step * dims[d].size) % stride != 0) continue;
      const int64_t reach = step * dims[d].size / stride;  // so far inside the dimension
      if (reach <= 1 || size <= reach || size % reach != 0) continue;
      parts.back() = {reach, stride};
      parts.push_back({size / reach, stride * reach});
    }
    for (const Digit& part : parts) {
      split.sizes.insert(split.sizes.begin(), part.size);
      split.strides.insert(split.strides.begin(), part.stride);
    }
  }
  return split;
}

std::optional<View> ComposeFinely(const View& outer, const View& inner) {
  auto view = Compose(outer, inner);
  return view ? view : Compose(SplitAlong(outer, inner), inner);
}

std::optional<std::vector<std::vector<Digit>>> SplitIntoAxes(const View& view,
                                                             const std::vector<int64_t>& axis_sizes) {
  std::vector<std::vector<Digit>> axes(axis_sizes.size());
  int dim = view.rank() - 1;
  int64_t size = dim >= 0 ? view.sizes[dim] : 1, stride = dim >= 0 ? view.strides[dim] : 0;
  for (size_t a = axis_sizes.size(); a-- > 0;) {
    int64_t left = axis_sizes[a];
    while (left > 1) {
      while (size == 1 && dim > 0) {
        --dim;
        size = view.sizes[dim];
        stride = view.strides[dim];
      }
      if (size == 1) return std::nullopt;
      int64_t take = left % size == 0 ? size : left;
      if (size % take != 0) return std::nullopt;
      axes[a].insert(axes[a].begin(), {take, stride});
      left /= take;
      size /= take;
      stride *= take;
    }
    axes[a] = MergeDigits(axes[a]);
  }
  return axes;
}

}  // namespace tritogen::teach
