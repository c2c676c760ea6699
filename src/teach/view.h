// View: how one value is read by another. A value lies in row-major order, and a view reads element
// offset + Σ index·stride of it, as torch.as_strided does. Layout operations are arithmetic on views and cost
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tritogen::teach {

using PrimId = int;
// The view reads no memory: its value is the element number itself. Row and column numbers for masks and
// triangles.
inline constexpr PrimId kElementNumber = -1;

// Outside lo ≤ index[dim] < hi the reader does not use the value, and the view may point nowhere.
struct Guard {
  int dim;
  int64_t lo, hi;
  bool operator==(const Guard&) const = default;
};

struct View {
  PrimId prim = kElementNumber;
  int64_t offset = 0;
  std::vector<int64_t> sizes, strides;
  std::vector<Guard> guards;

  bool operator==(const View&) const = default;
  int64_t numel() const;
  int rank() const { return static_cast<int>(sizes.size()); }
  // All of a value in its own order (its shape may differ). REQUIRES for a true answer: numel equals the
  // value's.
  bool IsContiguous() const;
};

// Offsets and element numbers below this are int32 in kernels.
inline constexpr int64_t kNarrowLimit = int64_t{1} << 31;

// At most how far from the start of its memory a view's elements lie.
int64_t Reach(const View& view);

// Whether they read the same elements in the same order; their shapes may differ. Never with guards.
bool ReadAlike(const View& a, const View& b);

// Its elements follow each other in memory in its own order, wherever they begin: what torch calls
// contiguous.
bool IsRowMajor(const View& view);

int64_t Product(const std::vector<int64_t>& sizes);
// The element number where the view has one number throughout: the index along a dimension of one element.
std::optional<int64_t> ConstantIndex(const View& view);
std::vector<int64_t> ContiguousStrides(const std::vector<int64_t>& sizes);
View ContiguousView(PrimId prim, std::vector<int64_t> sizes);

// Layout operations. Dimensions may be negative; REQUIRES: they and the sizes fit, as PyTorch has checked.
View Permute(const View& view, const std::vector<int64_t>& dims);
// `count` dimensions from `first` on behind all others.
View ToTheEnd(const View& view, size_t first, size_t count);
// With one element where it is the same many times.
View WithoutRepeats(View view);
View Slice(const View& view, int64_t dim, int64_t start, int64_t length, int64_t step);
View Select(const View& view, int64_t dim, int64_t index);
View Unsqueeze(const View& view, int64_t dim);
View Squeeze(const View& view, int64_t dim);  // no change where the size is not 1
// To a broadcast shape of at least the view's rank.
View Expand(const View& view, const std::vector<int64_t>& sizes);
// Nothing when the strides do not allow it, as for torch's view().
std::optional<View> Reshape(const View& view, const std::vector<int64_t>& sizes);
int64_t WrapDim(int64_t dim, int64_t rank);
// Which dimensions are meant, as PyTorch names them: all where none is named, and none of a tensor that has
// none, whatever is named.
std::vector<bool> MarkedDims(const std::vector<int64_t>& dims, int64_t rank);

// Reads through a value to one of that value's operands: `outer` reads the elements of a value of shape
// `shape`, whose element i is made from element i of `inner` (inner.sizes equals shape). Gives the view of
// inner's value that has outer's sizes. Nothing when no strides express it.
std::optional<View> Compose(const View& outer, const View& inner);

// `outer` with dimensions of it cut in two where they pass the borders of inner's, as far as sizes allow: a
// form that Compose may express. As it is where it has guards.
View SplitAlong(const View& outer, const View& inner);

// The same, of a form of `outer` with more dimensions where that one is expressed.
std::optional<View> ComposeFinely(const View& outer, const View& inner);

// A dimension of an axis: index // (product of later digits) % size, times stride.
struct Digit {
  int64_t size, stride;
  bool operator==(const Digit&) const = default;
};

// Splits the view's dimensions, in order, into axes of the given sizes; each axis gets digits, outermost
// first, merged where their strides allow. Nothing when dimension borders and axis borders do not fit into
// each other. REQUIRES: the product of axis_sizes equals view.numel().
std::optional<std::vector<std::vector<Digit>>> SplitIntoAxes(const View& view,
                                                             const std::vector<int64_t>& axis_sizes);

// Merges neighbours that act as one dimension and drops those of size 1.
std::vector<Digit> MergeDigits(const std::vector<Digit>& digits);

}  // namespace tritogen::teach
