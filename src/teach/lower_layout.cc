#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

Value With(const Value& value, View view) {
  return {std::move(view), value.dtype};
}

// Keeps the triangle below (or above) a diagonal of the last two dimensions.
Value Triangle(Builder& b, const Value& x, int64_t diagonal, bool lower) {
  Value row = b.Index(x.sizes(), -2), column = b.Index(x.sizes(), -1);
  const std::string kept = fmt::format("{{1}} - {{2}} {} {}", lower ? "<=" : ">=", diagonal);
  // A choice between a condition and a number would be a number.
  const std::string expr =
      x.dtype == Dtype::kBool ? "(" + kept + ") & {0}" : "tl.where(" + kept + ", {0}, 0)";
  return b.Pointwise(lower ? "tril" : "triu", expr, {x, column, row}, x.dtype, 1);
}

std::vector<Value> SplitParts(const Value& x, const std::vector<int64_t>& lengths, int64_t dim) {
  std::vector<Value> parts;
  int64_t start = 0;
  for (int64_t length : lengths) {
    parts.push_back(With(x, Slice(x.view, dim, start, length, 1)));
    start += length;
  }
  return parts;
}

// Of many parts some are put together first: each of them is a load and a choice.
Value ConcatenateAll(Builder& b, std::vector<Value> parts, int64_t dim) {
  constexpr size_t kAtOnce = 8;
  while (parts.size() > kAtOnce) {
    std::vector<Value> longer;
    for (size_t i = 0; i < parts.size(); i += kAtOnce) {
      const auto first = parts.begin() + static_cast<int64_t>(i);
      const auto last = parts.begin() + static_cast<int64_t>(std::min(i + kAtOnce, parts.size()));
      longer.push_back(Concatenate(b, {first, last}, dim));
    }
    parts = std::move(longer);
  }
  return Concatenate(b, parts, dim);
}

// Cutting ops and those with several operands.
bool LowerCutting(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  if (op == "cat" || op == "stack") {
    const auto* list = std::get_if<Arg::List>(&args["tensors"].v);
    int64_t dim = AsInt(args["dim"]).value_or(0);
    if (list == nullptr || list->empty()) return false;
    std::vector<Value> parts;
    for (const Arg& item : *list) {
      if (AsRef(item) == nullptr) return false;
      Value part = b.Get(*AsRef(item));
      if (part.view.numel() == 0 && op == "cat") continue;
      if (op == "stack") part = With(part, Unsqueeze(part.view, dim));
      if (part.view.rank() == 0 || part.view.numel() == 0 || !part.view.guards.empty()) return false;
      part = b.Cast(part, node.results[0].dtype);
      parts.push_back(part);
    }
    if (parts.empty()) return false;
    b.Return({ConcatenateAll(b, std::move(parts), dim)});
    return true;
  }
  Value x = b.Tensor(args, "self");
  int64_t dim = AsInt(args["dim"]).value_or(0);
  if (op == "split" || op == "split_with_sizes" || op == "chunk") {
    std::vector<int64_t> lengths;
    for (const Shape& shape : node.results) lengths.push_back(shape.sizes[WrapDim(dim, x.view.rank())]);
    b.Return(SplitParts(x, lengths, dim));
    return true;
  }
  if (op == "unbind") {
    std::vector<Value> parts;
    for (size_t i = 0; i < node.results.size(); ++i) {
      parts.push_back(With(x, Select(x.view, dim, static_cast<int64_t>(i))));
    }
    b.Return(std::move(parts));
    return true;
  }
  return false;
}

std::optional<View> SliceView(const View& view, const BoundArgs& args, const Shape& result) {
  int64_t dim = WrapDim(AsInt(args["dim"]).value_or(0), view.rank());
  int64_t step = AsInt(args["step"]).value_or(1), start = AsInt(args["start"]).value_or(0);
  if (start < 0) start += view.sizes[dim];
  start = std::clamp<int64_t>(start, 0, view.sizes[dim]);
  return Slice(view, dim, start, result.sizes[dim], step);
}

// One tensor in, a view of it out.
std::optional<View> ViewOf(const View& view, std::string_view op, const BoundArgs& args,
                           const Shape& result) {
  int64_t dim = AsInt(args["dim"]).value_or(0);
  if (op == "t") return view.rank() < 2 ? view : Permute(view, {1, 0});
  if (op == "transpose") {
    std::vector<int64_t> dims(view.rank());
    for (int i = 0; i < view.rank(); ++i) dims[i] = i;
    if (dims.empty()) return view;
    std::swap(dims[WrapDim(AsInt(args["dim0"]).value_or(0), view.rank())],
              dims[WrapDim(AsInt(args["dim1"]).value_or(0), view.rank())]);
    return Permute(view, dims);
  }
  if (op == "permute") {
    auto dims = AsInts(args["dims"]);
    return dims ? std::optional(Permute(view, *dims)) : std::nullopt;
  }
  if (op == "expand") return Expand(view, result.sizes);
  if (op == "slice") return SliceView(view, args, result);
  if (op == "narrow") {
    return Slice(view, dim, AsInt(args["start"]).value_or(0), AsInt(args["length"]).value_or(1), 1);
  }
  if (op == "select") {
    int64_t index = AsInt(args["index"]).value_or(0);
    return Select(view, dim, index < 0 ? index + view.sizes[WrapDim(dim, view.rank())] : index);
  }
  return std::nullopt;
}

}  // namespace

// Concatenation is a choice by index: element i comes from the part whose range holds i.
Value Concatenate(Builder& b, const std::vector<Value>& parts, int64_t dim) {
  std::vector<int64_t> sizes = parts[0].sizes();
  dim = WrapDim(dim, static_cast<int64_t>(sizes.size()));
  for (size_t i = 1; i < parts.size(); ++i) sizes[dim] += parts[i].sizes()[dim];
  std::vector<Value> in;
  std::string expr;
  int64_t start = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    View view = parts[i].view;
    int64_t length = view.sizes[dim];
    view.sizes = sizes;
    view.offset -= start * view.strides[dim];
    view.guards.push_back({static_cast<int>(dim), start, start + length});
    in.push_back(With(parts[i], view));
    start += length;
    if (i + 1 < parts.size()) expr += fmt::format("tl.where({{{}}} < {}, {{{}}}, ", parts.size(), start, i);
  }
  expr += fmt::format("{{{}}}{}", parts.size() - 1, std::string(parts.size() - 1, ')'));
  in.push_back(b.Index(sizes, dim));
  Value joined = b.Pointwise("cat", expr, in, parts[0].dtype, 0);
  if (parts.size() > 1) b.graph.prims[joined.view.prim].joins = joined.view.prim;
  return joined;
}

Value Stack(Builder& b, std::vector<Value> parts) {
  for (Value& part : parts) part.view = Unsqueeze(part.view, 0);
  return Concatenate(b, parts, 0);
}

Value Builder::DrawnOnOnes(const Shape& shape) {
  Prim prim;
  prim.kind = PrimKind::kCall;
  prim.name = prim.origin = "mask";
  prim.dtype = shape.dtype;
  prim.sizes = shape.sizes;
  prim.node = {node, 0};
  prim.on_ones = true;
  return {graph.Whole(graph.Add(std::move(prim))), shape.dtype};
}

namespace {

// In training: PyTorch draws which elements stay, the rest is pointwise. What it makes of ones is rounded
// where they are of a half type, so that only zeros count.
bool LowerDropout(Builder& b, const Node& node, const BoundArgs& args) {
  Value x = b.Tensor(args, "input");
  const double p = AsNumber(args["p"]).value_or(1);
  if (!AsBool(args["train"], true) || p == 0) {
    b.Return({x});
    return true;
  }
  if (p >= 1 || node.results.size() != 1 || !IsFloating(x.dtype)) return false;
  const Value mask = b.DrawnOnOnes(node.results[0]);
  const std::string expr =
      fmt::format("{{0}} * tl.where({{1}} != 0, {}, 0.0)", PythonLiteral(Arg{1 / (1 - p)}));
  b.Return({b.Pointwise("dropout", expr, {x, mask}, x.dtype, 2)});
  return true;
}

}  // namespace

bool LowerLayout(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  if (op == "dropout" || op == "native_dropout") return LowerDropout(b, node, args);
  if (op == "cat" || op == "stack" || op == "split" || op == "split_with_sizes" || op == "chunk" ||
      op == "unbind") {
    return LowerCutting(b, node, op, args);
  }
  if (op == "repeat") return LowerMove(b, node, op, args);
  Value x = b.Tensor(args, "self");
  const Shape& result = node.results[0];
  if (op == "detach" || op == "alias" || op == "lift_fresh" || op == "clone" || op == "contiguous") {
    b.Return({x});
  } else if (op == "tril" || op == "triu") {
    b.Return({Triangle(b, x, AsInt(args["diagonal"]).value_or(0), op == "tril")});
  } else if (auto view = ViewOf(x.view, op, args, result)) {
    b.Return({With(x, *view)});
  } else if (x.view.numel() == result.numel()) {
    b.Return({b.Reshape(x, result.sizes)});  // view, reshape, flatten, squeeze, unsqueeze…
  } else {
    return false;
  }
  return true;
}

}  // namespace tritogen::teach
