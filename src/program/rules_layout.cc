// Shape rules of views, joins and cuts.
#include <algorithm>

#include "program/catalogue.h"
#include "program/rules.h"

namespace tritogen::rules {
namespace {

int RankOf(const Terms& sizes) {
  return static_cast<int>(sizes.size());
}

// `sizes` with at most one −1, which takes what is left of the elements.
void ReshapeTo(ShapeBuilder& b, const Terms& from, Terms sizes) {
  int open = -1;
  Terms known;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == Term::Of(-1)) {
      if (!b.Require(open < 0, "two sizes of -1")) return;
      open = static_cast<int>(i);
    } else {
      b.RequireRange(sizes[i], 0, kUnboundedSize, "a negative size");
      known.push_back(sizes[i]);
    }
  }
  if (open >= 0) {
    sizes[open] = b.Over(b.Times(from), b.Times(known), "the sizes do not divide the elements");
  } else {
    b.RequireProduct(from, sizes, "the number of elements changes");
  }
  b.Result(std::move(sizes));
}

constexpr int64_t kMostPieces = 4096;

// Where a slice from `start` to `end` lies in a dimension of `size` elements, as Python counts.
int64_t Clamped(int64_t index, int64_t size) {
  return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
}

void RequireInside(ShapeBuilder& b, Term size, int64_t index) {
  constexpr int64_t kMost = int64_t{1} << 48;
  if (!b.Require(index >= -kMost && index < kMost, "an index of that size")) return;
  b.RequireRange(size, index < 0 ? -index : index + 1, kUnboundedSize, "the index lies inside");
}

// Of an unknown size, only slices that lie within it are stated.
Term Sliced(ShapeBuilder& b, Term size) {
  const int64_t start = b.Int("start", 0), end = b.Int("end", kUnboundedSize), step = b.Int("step", 1);
  if (!b.Require(step >= 1 && step <= int64_t{1} << 48, "a step of that size")) return size;
  if (size.known()) {
    const int64_t from = Clamped(start, size.number), to = std::max(from, Clamped(end, size.number));
    return Term::Of((to - from + step - 1) / step);
  }
  if (!b.Require(start >= 0 && end > start, "a slice that does not count from the front")) return size;
  if (end == kUnboundedSize) {
    const Term rest = b.Plus({{1, size}}, -start);
    return b.WindowOut({rest, Term::Of(1), Term::Of(step), Term::Of(0), Term::Of(1)});
  }
  b.RequireAtMost({{-1, size}}, end, "the slice ends inside");
  return Term::Of((end - start + step - 1) / step);
}

}  // namespace

void Reshape(ShapeBuilder& b) {
  ReshapeTo(b, b.In("self"), b.Attributes(b.signature().params[1].name));
}

void Flatten(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  if (x.empty()) return b.Result({Term::Of(1)});
  const int first = b.Axis("start_dim", RankOf(x)), last = b.Axis("end_dim", RankOf(x));
  if (!b.Require(first <= last, "start_dim comes after end_dim")) return;
  Terms out(x.begin(), x.begin() + first);
  out.push_back(b.Times(Terms(x.begin() + first, x.begin() + last + 1)));
  out.insert(out.end(), x.begin() + last + 1, x.end());
  b.Result(std::move(out));
}

void Unflatten(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  const int axis = b.Axis("dim", RankOf(x));
  const Terms sizes = b.Attributes("sizes");
  if (!b.Require(!x.empty() && !sizes.empty(), "nothing to unflatten")) return;
  b.RequireProduct({x[axis]}, sizes, "the sizes do not make the dimension");
  Terms out(x.begin(), x.begin() + axis);
  out.insert(out.end(), sizes.begin(), sizes.end());
  out.insert(out.end(), x.begin() + axis + 1, x.end());
  b.Result(std::move(out));
}

void T(ShapeBuilder& b) {
  Terms x = b.In("self");
  if (!b.Require(x.size() <= 2, "t of a tensor of more than two dimensions")) return;
  std::reverse(x.begin(), x.end());
  b.Result(std::move(x));
}

void Transpose(ShapeBuilder& b) {
  Terms x = b.In("self");
  const int first = b.Axis("dim0", RankOf(x)), second = b.Axis("dim1", RankOf(x));
  if (!x.empty()) std::swap(x[first], x[second]);
  b.Result(std::move(x));
}

void Permute(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  const std::vector<int64_t> dims = b.Ints("dims");
  if (!b.Require(dims.size() == x.size(), "dims name every dimension")) return;
  std::vector<bool> seen(x.size(), false);
  Terms out;
  for (int64_t dim : dims) {
    const int axis = b.Wrap(dim, RankOf(x));
    if (b.failed() || !b.Require(!seen[axis], "a dimension is named twice")) return;
    seen[axis] = true;
    out.push_back(x[axis]);
  }
  b.Result(std::move(out));
}

void Unsqueeze(ShapeBuilder& b) {
  Terms x = b.In("self");
  const int axis = b.Axis("dim", RankOf(x) + 1);
  x.insert(x.begin() + axis, Term::Of(1));
  b.Result(std::move(x));
}

// Named dimensions go when their size is one. Of unknown sizes, only dimensions of size one may be named.
void Squeeze(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  std::vector<bool> named(x.size(), !b.Given("dim"));
  for (int64_t dim : b.Ints("dim")) {
    const int axis = b.Wrap(dim, RankOf(x));
    if (!x.empty()) named[axis] = true;
  }
  Terms out;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    if (named[axis] && !x[axis].known() && b.Given("dim")) {
      b.RequireEqual(x[axis], Term::Of(1), "a squeezed dimension");
    } else if (named[axis] && !x[axis].known()) {
      return b.Fail("which dimensions squeeze removes depends on sizes");
    }
    if (!named[axis] || (x[axis].known() && x[axis].number != 1)) out.push_back(x[axis]);
  }
  b.Result(std::move(out));
}

void Expand(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  Terms sizes = b.Attributes("size");
  if (!b.Require(sizes.size() >= x.size(), "expand to fewer dimensions")) return;
  const size_t lead = sizes.size() - x.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == Term::Of(-1)) {
      if (!b.Require(i >= lead, "-1 in a new dimension")) return;
      sizes[i] = x[i - lead];
    } else if (i >= lead) {
      b.RequireEqual(b.Broadcasted(x[i - lead], sizes[i]), sizes[i], "only dimensions of size one grow");
    }
  }
  b.Result(std::move(sizes));
}

void Repeat(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  Terms repeats = b.Attributes("repeats");
  if (!b.Require(repeats.size() >= x.size(), "fewer repeats than dimensions")) return;
  const size_t lead = repeats.size() - x.size();
  for (size_t i = lead; i < repeats.size(); ++i) repeats[i] = b.Times({x[i - lead], repeats[i]});
  b.Result(std::move(repeats));
}

void RepeatInterleave(ShapeBuilder& b) {
  Terms x = b.In("self");
  const Term repeats = b.Attribute("repeats", 1);
  if (!b.Given("dim")) {
    x.push_back(repeats);
    return b.Result({b.Times(x)});
  }
  const int axis = b.Axis("dim", RankOf(x));
  if (x.empty()) x.push_back(Term::Of(1));
  x[axis] = b.Times({x[axis], repeats});
  b.Result(std::move(x));
}

void Slice(ShapeBuilder& b) {
  Terms x = b.In("self");
  const int axis = b.Axis("dim", RankOf(x));
  if (!b.Require(!x.empty(), "a slice of a tensor without dimensions")) return;
  x[axis] = Sliced(b, x[axis]);
  b.Result(std::move(x));
}

void Narrow(ShapeBuilder& b) {
  Terms x = b.In("self");
  const int axis = b.Axis("dim", RankOf(x));
  if (!b.Require(!x.empty(), "narrow of a tensor without dimensions")) return;
  const Term start = b.Attribute("start", 0), length = b.Attribute("length", 1);
  b.RequireAtMost({{1, start}, {1, length}, {-1, x[axis]}}, 0, "the piece ends inside");
  x[axis] = length;
  b.Result(std::move(x));
}

void Select(ShapeBuilder& b) {
  Terms x = b.In("self");
  const int axis = b.Axis("dim", RankOf(x));
  const int64_t index = b.Int("index", 0);
  if (!b.Require(!x.empty(), "select of a tensor without dimensions")) return;
  RequireInside(b, x[axis], index);
  x.erase(x.begin() + axis);
  b.Result(std::move(x));
}

void Split(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  const int axis = b.Axis("dim", RankOf(x));
  const int64_t piece = b.Int("split_size", 0);
  if (!b.Require(!x.empty() && piece >= 1, "pieces of no size")) return;
  if (!b.Require(x[axis].known(), "how many pieces there are depends on sizes")) return;
  const int64_t size = x[axis].number, step = std::min(piece, std::max<int64_t>(size, 1));
  if (!b.Require(size / step <= kMostPieces, "more than 4096 pieces")) return;
  for (int64_t start = 0; start < size; start += step) {
    Terms part = x;
    part[axis] = Term::Of(std::min(step, size - start));
    b.Result(std::move(part));
  }
}

void SplitSizes(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  const int axis = b.Axis("dim", RankOf(x));
  const Terms pieces = b.Attributes(b.signature().params[1].name);
  if (!b.Require(!x.empty() && !pieces.empty(), "nothing to split")) return;
  std::vector<std::pair<int64_t, Term>> sum;
  for (const Term& piece : pieces) sum.emplace_back(1, piece);
  b.RequireEqual(b.Plus(sum), x[axis], "the pieces make the dimension");
  for (const Term& piece : pieces) {
    Terms part = x;
    part[axis] = piece;
    b.Result(std::move(part));
  }
}

// Of an unknown size, only equal chunks are stated.
void Chunk(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  const int axis = b.Axis("dim", RankOf(x));
  const int64_t chunks = b.Int("chunks", 0);
  if (!b.Require(!x.empty() && chunks >= 1 && chunks <= 1024, "number of chunks")) return;
  if (!x[axis].known()) {
    const Term each = b.Over(x[axis], Term::Of(chunks), "equal chunks");
    for (int64_t i = 0; i < chunks; ++i) {
      Terms part = x;
      part[axis] = each;
      b.Result(std::move(part));
    }
    return;
  }
  const int64_t size = x[axis].number, piece = std::max<int64_t>(1, (size + chunks - 1) / chunks);
  for (int64_t start = 0; start < size; start += piece) {
    Terms part = x;
    part[axis] = Term::Of(std::min(piece, size - start));
    b.Result(std::move(part));
  }
}

void Unbind(ShapeBuilder& b) {
  Terms x = b.In("self");
  const int axis = b.Axis("dim", RankOf(x));
  if (!b.Require(!x.empty() && x[axis].known(), "how many results there are depends on sizes")) return;
  const int64_t count = x[axis].number;
  if (!b.Require(count <= kMostPieces, "more than 4096 pieces")) return;
  x.erase(x.begin() + axis);
  for (int64_t i = 0; i < count; ++i) b.Result(x);
}

void Cat(ShapeBuilder& b) {
  const std::vector<Terms> tensors = b.List("tensors");
  if (!b.Require(!tensors.empty(), "nothing to join")) return;
  Terms out = tensors[0];
  const int axis = b.Axis("dim", RankOf(out));
  if (b.failed() || !b.Require(!out.empty(), "tensors without dimensions are stacked")) return;
  std::vector<std::pair<int64_t, Term>> sum;
  for (const Terms& tensor : tensors) {
    if (!b.Require(tensor.size() == out.size(), "tensors of unlike rank")) return;
    sum.emplace_back(1, tensor[axis]);
    for (int i = 0; i < RankOf(out); ++i) {
      if (i != axis) b.RequireEqual(out[i], tensor[i], "sizes of the other dimensions");
    }
  }
  out[axis] = b.Plus(sum);
  b.Result(std::move(out));
}

void Stack(ShapeBuilder& b) {
  const std::vector<Terms> tensors = b.List("tensors");
  if (!b.Require(!tensors.empty(), "nothing to stack")) return;
  Terms out = tensors[0];
  for (const Terms& tensor : tensors) b.RequireEqual(tensor, out, "stacked tensors have one shape");
  const int axis = b.Axis("dim", RankOf(out) + 1);
  out.insert(out.begin() + axis, Term::Of(static_cast<int64_t>(tensors.size())));
  b.Result(std::move(out));
}

void SliceScatter(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  Terms part = x;
  const int axis = b.Axis("dim", RankOf(x));
  if (!b.Require(!x.empty(), "a slice of a tensor without dimensions")) return;
  part[axis] = Sliced(b, x[axis]);
  b.RequireEqual(b.In("src"), part, "the source has the shape of the slice");
  b.Result(x);
}

void SelectScatter(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  Terms part = x;
  const int axis = b.Axis("dim", RankOf(x));
  const int64_t index = b.Int("index", 0);
  if (!b.Require(!x.empty(), "select of a tensor without dimensions")) return;
  RequireInside(b, x[axis], index);
  part.erase(part.begin() + axis);
  b.RequireEqual(b.In("src"), part, "the source has the shape of the selection");
  b.Result(x);
}

void ViewAs(ShapeBuilder& b) {
  b.RequireProduct(b.In("self"), b.In("other"), "the number of elements changes");
  b.Result(b.In("other"));
}

void Glu(ShapeBuilder& b) {
  Terms x = b.In("self");
  const int axis = b.Axis("dim", RankOf(x));
  if (!b.Require(!x.empty(), "glu of a tensor without dimensions")) return;
  x[axis] = b.Over(x[axis], Term::Of(2), "the halves are equal");
  b.Result(std::move(x));
}

}  // namespace tritogen::rules
