// Layout operations that no strides express: flips, rolls, paddings, repeats, and writes into a part.
#include <fmt/format.h>

#include <algorithm>

#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// An index from another one.
Value Moved(Builder& b, const std::string& expr, const Value& index) {
  return b.Pointwise("index", expr, {index}, Dtype::kInt32, 0);
}

// A scan of what was flipped, flipped back, is one from the last element on.
std::optional<Value> ScanBackwards(Builder& b, const Value& scan, int64_t dim) {
  if (scan.view.prim < 0 || !(scan.view == b.graph.Whole(scan.view.prim))) return std::nullopt;
  const Prim prim = b.graph[scan.view.prim];
  if (prim.kind != PrimKind::kScan || prim.backwards || !prim.reduced[dim]) return std::nullopt;
  const View& read = prim.operands[0];
  const auto flip = b.flips.find(read.prim);
  if (flip == b.flips.end() || flip->second.dim != dim || !(read == b.graph.Whole(read.prim)))
    return std::nullopt;
  return b.Scan(prim.reduce, flip->second.of, dim, /*backwards=*/true);
}

Value Flip(Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  const bool one = dims.size() == 1;
  const int64_t only = one ? WrapDim(dims[0], x.view.rank()) : 0;
  if (one) {
    if (auto scan = ScanBackwards(b, x, only)) return *scan;
  }
  std::vector<Value> index = b.Indices(x.sizes());
  for (int64_t dim : dims) {
    dim = WrapDim(dim, x.view.rank());
    index[dim] = Moved(b, fmt::format("{} - {{0}}", x.sizes()[dim] - 1), index[dim]);
  }
  const Value flipped = b.Load("flipped", x, index);
  if (one && flipped.view.prim >= 0) b.flips.insert_or_assign(flipped.view.prim, Builder::Flip{x, only});
  return flipped;
}

Value Roll(Builder& b, const Value& x, const std::vector<int64_t>& shifts, const std::vector<int64_t>& dims) {
  std::vector<Value> index = b.Indices(x.sizes());
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = WrapDim(dims[i], x.view.rank()), n = x.sizes()[dim];
    const int64_t back = ((-shifts[i]) % n + n) % n;
    index[dim] = Moved(b, fmt::format("({{0}} + {}) % {}", back, n), index[dim]);
  }
  return b.Load("rolled", x, index);
}

// Before and after each dimension, the last one first, as PyTorch gives paddings.
Value ConstantPad(Builder& b, const Value& x, const std::vector<int64_t>& pad, const Arg& value,
                  const std::vector<int64_t>& sizes) {
  std::vector<Value> index = b.Indices(sizes);
  Conditions inside;
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    const size_t dim = sizes.size() - 1 - i / 2;
    const int64_t n = x.sizes()[dim];
    index[dim] = b.Affine("index", {{1, index[dim]}}, -pad[i]);
    inside.Within(index[dim], -pad[i], n - 1 + pad[i + 1], n);
  }
  return b.Load("padded", x, index, inside.All(b), NumberText(value, x.dtype));
}

Value EdgePad(Builder& b, const Value& x, const std::vector<int64_t>& pad, bool reflect,
              const std::vector<int64_t>& sizes) {
  std::vector<Value> index = b.Indices(sizes);
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    const size_t dim = sizes.size() - 1 - i / 2;
    if (pad[i] == 0 && pad[i + 1] == 0) continue;
    const int64_t last = x.sizes()[dim] - 1;
    index[dim] = Moved(b,
                       reflect ? fmt::format("{0} - tl.abs({0} - tl.abs({{0}} - {1}))", last, pad[i])
                               : fmt::format("tl.minimum(tl.maximum({{0}} - {1}, 0), {0})", last, pad[i]),
                       index[dim]);
  }
  return b.Load("padded", x, index);
}

Value Repeat(Builder& b, const Value& x, const std::vector<int64_t>& sizes) {
  std::vector<Value> all = b.Indices(sizes);
  std::vector<Value> index(all.end() - x.view.rank(), all.end());
  const size_t lead = sizes.size() - x.sizes().size();
  for (size_t d = 0; d < index.size(); ++d) {
    if (x.sizes()[d] != sizes[lead + d])
      index[d] = Moved(b, fmt::format("{{0}} % {}", x.sizes()[d]), index[d]);
  }
  if (index.empty()) return b.Pointwise("copy", "{0}", {{Expand(x.view, sizes), x.dtype}}, x.dtype, 0);
  // Dimensions in front take part so that the result has them.
  Value shaped{Unsqueeze(x.view, 0), x.dtype};
  if (lead == 0) return b.Load("repeated", x, index);
  while (shaped.view.rank() < static_cast<int>(sizes.size())) shaped.view = Unsqueeze(shaped.view, 0);
  std::vector<Value> full(all.begin(), all.begin() + static_cast<int64_t>(lead));
  full.insert(full.end(), index.begin(), index.end());
  return b.Load("repeated", shaped, full);
}

// src where the index along `dim` is start, start + step, …; self elsewhere.
Value Overwrite(Builder& b, const Value& x, const Value& src, int64_t dim, int64_t start, int64_t length,
                int64_t step) {
  dim = WrapDim(dim, x.view.rank());
  std::vector<Value> index = b.Indices(x.sizes());
  std::string expr = fmt::format("({{0}} >= {}) & ({{0}} < {})", start, start + length * step);
  const std::string place = start > 0 ? fmt::format("({{0}} - {})", start) : "{0}";
  if (step > 1) expr += fmt::format(" & ({} % {} == 0)", place, step);
  Value inside = b.Pointwise("inside", expr, {index[dim]}, Dtype::kBool, 0);
  if (step > 1)
    index[dim] = Moved(b, fmt::format("{} // {}", place, step), index[dim]);
  else if (start > 0)
    index[dim] = Moved(b, fmt::format("{{0}} - {}", start), index[dim]);
  Value part = b.Load("part", src, index, inside);
  return b.Pointwise("written", "tl.where({0}, {1}, {2})", {inside, part, x}, x.dtype, 0);
}

// (…, c·r·r, h, w) ↔ (…, c, h·r, w·r)
Value Shuffle(Builder& b, const Value& x, int64_t r, bool up, const std::vector<int64_t>& sizes) {
  const std::vector<int64_t>& small = up ? x.sizes() : sizes;  // with many channels
  const std::vector<int64_t>& large = up ? sizes : x.sizes();
  const size_t lead = small.size() - 3;
  std::vector<int64_t> order, split(small.begin(), small.begin() + static_cast<int64_t>(lead));
  for (size_t i = 0; i < lead; ++i) order.push_back(static_cast<int64_t>(i));
  const int64_t at = static_cast<int64_t>(lead), c = large[lead], h = small[lead + 1], w = small[lead + 2];
  if (up) {
    split.insert(split.end(), {c, r, r, h, w});
    order.insert(order.end(), {at, at + 3, at + 1, at + 4, at + 2});
  } else {
    split.insert(split.end(), {c, h, r, w, r});
    order.insert(order.end(), {at, at + 2, at + 4, at + 1, at + 3});
  }
  Value cut = b.Reshape(x, split);
  return b.Reshape({Permute(cut.view, order), x.dtype}, sizes);
}

}  // namespace

bool LowerMove(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  const std::vector<int64_t>& sizes = node.results[0].sizes;
  Value x = b.Tensor(args, "self");
  if (!x.view.guards.empty()) return false;
  auto ints = [&](std::string_view name) { return AsInts(args[name]).value_or(std::vector<int64_t>{}); };
  if (op == "flip") {
    b.Return({Flip(b, x, ints("dims"))});
  } else if (op == "roll") {
    auto dims = ints("dims");
    Value flat = dims.empty() ? b.Reshape(x, {x.view.numel()}) : x;
    b.Return(
        {b.Reshape(Roll(b, flat, ints("shifts"), dims.empty() ? std::vector<int64_t>{0} : dims), sizes)});
  } else if (op == "constant_pad_nd") {
    b.Return({ConstantPad(b, x, ints("pad"), args["value"], sizes)});
  } else if (op.starts_with("reflection_pad") || op.starts_with("replication_pad")) {
    b.Return({EdgePad(b, x, ints("padding"), op.starts_with("reflection"), sizes)});
  } else if (op == "repeat") {
    b.Return({Repeat(b, x, sizes)});
  } else if (op == "repeat_interleave") {
    auto dim = AsInt(args["dim"]);
    Value in = dim ? x : b.Reshape(x, {x.view.numel()});
    const int64_t along = WrapDim(dim.value_or(0), in.view.rank());
    std::vector<Value> index = b.Indices(sizes);
    index[along] = Moved(b, fmt::format("{{0}} // {}", AsInt(args["repeats"]).value_or(1)), index[along]);
    b.Return({b.Load("repeated", in, index)});
  } else if (op == "pixel_shuffle") {
    b.Return({Shuffle(b, x, AsInt(args["upscale_factor"]).value_or(1), true, sizes)});
  } else if (op == "pixel_unshuffle") {
    b.Return({Shuffle(b, x, AsInt(args["downscale_factor"]).value_or(1), false, sizes)});
  } else if (op == "slice_scatter" || op == "select_scatter") {
    const int64_t dim = WrapDim(AsInt(args["dim"]).value_or(0), x.view.rank()), n = x.sizes()[dim];
    const bool slice = op == "slice_scatter";
    int64_t start = AsInt(args[slice ? "start" : "index"]).value_or(0);
    if (start < 0) start += n;
    start = std::clamp<int64_t>(start, 0, n);
    Value src = b.Tensor(args, "src");
    if (!slice) src.view = Unsqueeze(src.view, dim);
    const int64_t step = AsInt(args["step"]).value_or(1);
    b.Return({Overwrite(b, x, src, dim, start, src.sizes()[dim], step)});
  } else {
    return false;
  }
  return true;
}

}  // namespace tritogen::teach
