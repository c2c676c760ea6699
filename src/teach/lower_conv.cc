// Convolutions as products: for each image and group, weights (o, c·k…) times windows (c·k…, y…). The windows
// are an indexed load that the product computes tile by tile, so nothing is unfolded in memory, and results
// lie as PyTorch's do. Where both are copied anyway, as factors of a large product, channels come last in the
// copies: neighbours along k are then neighbours in memory.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/rounding.h"
#include "teach/convolution.h"

namespace tritogen::teach {
namespace {

// The input's element, along spatial dimension s, that element k of window y reads; `inside` gets what must
// hold for there to be one.
Value ElementOf(Builder& b, const Convolution& g, size_t s, const Value& y, const Value& k,
                Conditions* inside) {
  const int64_t n = g.in[s], stride = g.stride[s], padding = g.padding[s], dilation = g.dilation[s];
  const int64_t reach = (g.kernel[s] - 1) * dilation;
  if (!g.transposed) {
    Value at = b.Affine("at", {{stride, y}, {dilation, k}}, -padding);
    inside->Within(at, -padding, (g.out[s] - 1) * stride + reach - padding, n);
    return at;
  }
  Value at = b.Affine("at", {{1, y}, {-dilation, k}}, padding);
  return inside->Quotient(b, "index", at, stride, padding - reach, g.out[s] - 1 + padding, n);
}

// Input elements of every window, of shape (n, groups, c, k…, y…), zero outside.
Value WindowsOf(Builder& b, const Value& x, const Convolution& g) {
  const size_t spatial = g.in.size(), c = g.channels_last ? 2 + spatial : 2, k = g.channels_last ? 2 : 3;
  std::vector<int64_t> sizes = {g.n, g.groups};
  sizes.insert(sizes.end(), g.kernel.begin(), g.kernel.end());
  sizes.insert(sizes.begin() + static_cast<int64_t>(c), g.c);
  sizes.insert(sizes.end(), g.out.begin(), g.out.end());
  std::vector<Value> all = b.Indices(sizes);
  std::vector<int64_t> split = {g.n, g.groups, g.c};
  std::vector<Value> index = {all[0], all[1], all[c]};
  Conditions inside;
  const size_t place = g.channels_last ? 1 : 3;
  for (size_t s = 0; s < spatial; ++s) {
    const auto at = static_cast<int64_t>(place + s);
    split.insert(split.begin() + at, g.in[s]);
    index.insert(index.begin() + at, ElementOf(b, g, s, all[3 + spatial + s], all[k + s], &inside));
  }
  return b.Load("window", b.Reshape(x, split), index, inside.All(b));
}

// (groups, o, c, k…)
Value FiltersOf(Builder& b, const Value& weight, const Convolution& g) {
  std::vector<int64_t> split = {g.groups, g.o, g.c}, order = {0, 1, 2};
  if (g.transposed) {
    std::swap(split[1], split[2]);
    std::swap(order[1], order[2]);
  }
  for (size_t s = 0; s < g.kernel.size(); ++s) {
    split.push_back(g.kernel[s]);
    order.insert(order.end() - (g.channels_last ? 1 : 0), static_cast<int64_t>(3 + s));
  }
  return {Permute(b.Reshape(weight, split).view, order), weight.dtype};
}

// The same for every image.
Value ForImages(const Value& filters, const Convolution& g) {
  std::vector<int64_t> sizes = filters.sizes();
  sizes.insert(sizes.begin(), g.n);
  return {Expand(Unsqueeze(filters.view, 0), sizes), filters.dtype};
}

// Channels that are neighbours in memory: so many that threads read 8 or 16 bytes at a time, of parts and
// half types or of float32.
int64_t PaddedChannels(const Builder& b, Dtype dtype, int64_t c) {
  const bool half = IsHalf(dtype) || b.UsesParts();
  return RoundUp(c, half && c > 4 ? 8 : 4);
}

// Zeros behind the last dimension, up to this size.
Value Padded(Builder& b, const Value& in, int64_t size) {
  if (in.sizes().back() == size) return in;
  std::vector<int64_t> sizes = in.sizes();
  sizes.back() = size;
  const std::vector<Value> index = b.Indices(sizes);
  Conditions inside;
  inside.Add(index.back(), fmt::format("< {}", in.sizes().back()));
  return b.Load("padded", in, index, inside.All(b));
}

// (n, in…, groups, c)
Value WithChannelsLast(Builder& b, const Value& x, const Convolution& g) {
  std::vector<int64_t> split = {g.n, g.groups, g.c}, order = {0};
  for (size_t s = 0; s < g.in.size(); ++s) {
    split.push_back(g.in[s]);
    order.push_back(static_cast<int64_t>(3 + s));
  }
  order.insert(order.end(), {1, 2});
  return {Permute(b.Reshape(x, split).view, order), x.dtype};
}

// Whether windows are read along their channels. Of one channel there is nothing to read along, and windows
// of half types that do not overlap, as of patches, have rows that are neighbours already.
bool ReadsChannelsLast(const Builder& b, Dtype dtype, const Convolution& g) {
  constexpr int64_t kPatch = 8;
  const int64_t row = g.kernel.back();
  const bool patches =
      IsHalf(dtype) && !g.transposed && row >= kPatch && g.stride.back() >= row && g.dilation.back() == 1;
  return g.c > 1 && !patches && b.StoresWindows(dtype, g.Flops());
}

// (n, groups, o, y…) of filters (groups, o…, k…, c), which are copied as windows are; `shape` as Prim::shape.
Value OfCopies(Builder& b, const Value& x, const Value& filters, Convolution g,
               const std::vector<int64_t>& shape) {
  g.channels_last = true;
  const int64_t c = PaddedChannels(b, x.dtype, g.c);
  std::vector<Value> weights = b.StoredFactor(Padded(b, filters, c)),
                     windows = b.StoredFactor(Padded(b, WithChannelsLast(b, x, g), c));
  g.c = c;
  for (Value& part : weights) part = ForImages(part, g);
  for (Value& part : windows) {
    part = WindowsOf(b, part, g);
    b.graph.prims[part.view.prim].held = part.dtype;  // on its way to a dot that takes it as it is
  }
  return b.Matmul(weights, windows, 2, {g.n, g.groups, g.o, Product(g.out)}, c * Product(g.kernel), shape);
}

// What few channels make of few is too little work for tensor cores, whose tiles have 16 rows at the least
// and whose factors would be copied first. Multiplied and added one by one, the weights are the same for a
// whole tile and a window's neighbours are neighbours in memory. Measured on an H100: 3 to 16 channels in 3-D
// 3.3 times as fast as dots of bfloat16 parts, 8 to 32 in 2-D 1.9 times, 16 to 32 1.06 times, 32 to 64 half
// as fast. TF32 dots, of which there is one where parts take six, are behind only where channels of images
// are padded to four.
bool IsOfFewChannels(const Builder& b, Dtype dtype, const Convolution& g) {
  struct Limit {
    int64_t channels, rows, inner;
  };
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max(), kImage = 4;
  constexpr Limit kLimits[] = {{kAny, 16, 512}, {kAny, 32, 160}, {kImage, 128, 32}};
  constexpr int64_t kFewResults = kProcessors * 16384, kChannelsOfPoints = 16;
  const int64_t inner = g.c * Product(g.kernel);
  if (inner == g.c && g.c > kChannelsOfPoints) return false;  // dots read an image as it lies
  return b.options().outer_products && !b.options().keep_products && (g.c <= kImage || !b.UsesTf32()) &&
         dtype == Dtype::kFloat32 && !(g.transposed && g.Strides()) && g.Flops() >= kFlopsWorthStoring &&
         g.n * g.groups * g.o * Product(g.out) >= kFewResults &&
         std::ranges::any_of(kLimits, [&](const Limit& most) {
           return g.c <= most.channels && g.o <= most.rows && inner <= most.inner;
         });
}

// How many outer products are written out: those of the last dimensions of k, as many as code has room for.
int64_t TapsOf(const Convolution& g) {
  constexpr int64_t kMostTaps = 16;
  std::vector<int64_t> dims = {g.c};
  dims.insert(dims.end(), g.kernel.begin(), g.kernel.end());
  int64_t taps = 1;
  for (size_t i = dims.size(); i-- > 0 && taps * dims[i] <= kMostTaps;) taps *= dims[i];
  return taps;
}

Value WithBias(Builder& b, const Value& product, const std::optional<Value>& bias, const Convolution& g) {
  if (!bias) return product;
  std::vector<int64_t> channels(product.sizes().size() - 1, 1);
  channels[0] = g.groups, channels[1] = g.o;
  return b.Op("add", {product, b.Reshape(*bias, channels)}, product.dtype);
}

// A transposed convolution with a stride, phase by phase.
Value OfPhases(Builder& b, const Value& x, const Value& weight, const std::optional<Value>& bias,
               const Convolution& g, const Phases& phases) {
  std::vector<int64_t> split = {g.n, g.groups, g.o, phases.conv.o / g.o};
  split.insert(split.end(), phases.conv.out.begin(), phases.conv.out.end());
  Value product = b.Reshape(OfCopies(b, x, FiltersOf(b, weight, g, phases), phases.conv, split), split);
  // Where no tap is the bias is all there is.
  if (phases.AllHaveTaps()) return ResultsOf(b, WithBias(b, product, bias, g), g, phases);
  return WithBias(b, ResultsOf(b, product, g, phases), bias, g);
}

// Whether each place by itself is a product of its channels, and the input can be read as it lies: rows of
// half types as tensor cores take them, or float32 of little work, or that few tiles read, which take it
// apart. Of those there must be many, since such tiles are large.
bool IsPlain(const Builder& b, Dtype dtype, const Convolution& g) {
  const auto all = [](const std::vector<int64_t>& of, int64_t value) {
    return std::all_of(of.begin(), of.end(), [&](int64_t each) { return each == value; });
  };
  if (!all(g.kernel, 1) || !all(g.stride, 1) || !all(g.padding, 0)) return false;
  constexpr int64_t kAligned = 8, kTile = Builder::kTileOfParts;
  const int64_t places = Product(g.out);
  if (IsHalf(dtype)) return places % kAligned == 0;
  const bool parts = b.UsesParts();
  if (parts && places % (kAligned / 2) == 0 && g.Flops() >= kFlopsWorthStoring &&
      g.Flops() < Builder::kFlopsOfTf32x3Across)
    return true;
  const int64_t tiles = g.n * g.groups * CeilDiv(g.o, kTile) * CeilDiv(places, kTile);
  return parts && b.FewRead(g.o) && tiles >= kProcessors;
}

Value PlainProduct(Builder& b, const Value& x, const Value& weight, const Convolution& g,
                   const std::vector<int64_t>& out) {
  const Value images = b.Reshape(x, {g.n, g.groups, g.c, Product(g.in)});
  const Value filters = b.Reshape(FiltersOf(b, weight, g), {g.groups, g.o, g.c});
  return b.Matmul(ForImages(filters, g), images, 2, {g.n, g.groups, g.o, Product(g.out)}, g.c, out);
}

// (n, groups, o, y…), or in the order of `out`.
Value ResultOf(Builder& b, const Value& x, const Value& weight, const std::optional<Value>& bias,
               Convolution g, const std::vector<int64_t>& out) {
  const bool few = IsOfFewChannels(b, x.dtype, g);
  if (few || !ReadsChannelsLast(b, x.dtype, g)) {
    const std::vector<int64_t> sizes = {g.n, g.groups, g.o, Product(g.out)};
    const int64_t inner = g.c * Product(g.kernel);
    const Value windows = WindowsOf(b, x, g), filters = ForImages(FiltersOf(b, weight, g), g);
    const Value product = few ? b.OuterProducts(filters, windows, 2, sizes, inner, TapsOf(g), out)
                              : b.Matmul(std::vector{filters}, std::vector{windows}, 2, sizes, inner, out);
    return WithBias(b, product, bias, g);
  }
  if (IsPlain(b, x.dtype, g)) return WithBias(b, PlainProduct(b, x, weight, g, out), bias, g);
  if (const auto phases = PhasesOf(b, x.dtype, g)) return OfPhases(b, x, weight, bias, g, *phases);
  g.channels_last = true;
  return WithBias(b, OfCopies(b, x, FiltersOf(b, weight, g), g, out), bias, g);
}

// Whether elements of one place's channels are neighbours in memory, as in tokens that are seen as an image.
bool ChannelsAreNeighbours(const View& x) {
  return x.sizes[1] > 1 && x.strides[1] == 1 && x.sizes.back() > 1 && x.strides.back() != 1;
}

// A copy of (n, groups, …) filters, the same for all images, in which those of neighbouring groups are
// neighbours.
View WithGroupsLast(Builder& b, const Value& filters) {
  const View last = ToTheEnd(filters.view, 1, 1);
  const Value copy = b.Pointwise("copy", "{0}", {{WithoutRepeats(last), filters.dtype}}, filters.dtype, 0);
  return ToTheEnd(Expand(b.Once("copy", copy).view, last.sizes), 1, last.sizes.size() - 2);
}

// One result for each group: nothing is used again by another row, so the product is a reduction over the
// window. Results lie as the input does.
Value Depthwise(Builder& b, const Value& x, const Value& weight, const BoundArgs& args, const Convolution& g,
                const std::vector<int64_t>& out) {
  const int64_t spatial = static_cast<int64_t>(g.in.size());
  std::vector<int64_t> order = {0}, dims;  // (n, groups, y…, c, k…), or groups behind y
  for (int64_t s = 0; s < spatial; ++s) order.push_back(3 + spatial + s);
  const auto group_dim = static_cast<size_t>(ChannelsAreNeighbours(x.view) ? 1 + spatial : 1);
  order.insert(order.begin() + static_cast<int64_t>(group_dim), 1);
  for (int64_t s = 0; s < spatial + 1; ++s) order.push_back(2 + s);
  for (int64_t s = 0; s < spatial + 1; ++s) dims.push_back(-1 - s);
  Value windows = WindowsOf(b, x, g), weights = ForImages(FiltersOf(b, weight, g), g);
  View filter = Select(weights.view, 2, 0);  // (n, groups, c, k…)
  if (group_dim > 1) filter = WithGroupsLast(b, {filter, weight.dtype});
  for (int64_t s = 0; s < spatial; ++s) filter = Unsqueeze(filter, group_dim == 1 ? 2 : 1);
  Value products = b.Op("mul", {Value{Permute(windows.view, order), x.dtype}, Value{filter, weight.dtype}},
                        ComputeDtype(x.dtype));
  Value y = b.Reduce(ReduceOp::kSum, products, dims, false);
  if (b.HasTensor(args, "bias")) {
    std::vector<int64_t> channels(y.sizes().size(), 1);
    channels[group_dim] = g.groups;
    y = b.Op("add", {y, b.Reshape(b.Tensor(args, "bias"), channels)}, y.dtype);
  }
  if (group_dim > 1) y.view = ToTheEnd(y.view, 1, g.in.size());
  return b.Reshape(y, out);
}

}  // namespace

bool LowerConvolution(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "input"), weight = b.Tensor(args, "weight");
  const std::vector<int64_t>& out = node.results[0].sizes;
  if (weight.view.rank() < 3 || !x.view.guards.empty() || !weight.view.guards.empty()) return false;
  const size_t spatial = weight.sizes().size() - 2;
  if (x.dtype != weight.dtype || DtypeSize(x.dtype) > 4 || !IsFloating(x.dtype)) return false;
  if (x.sizes().size() != spatial + 2 && x.sizes().size() != spatial + 1) return false;
  const bool batched = x.sizes().size() == spatial + 2;
  if (!batched) x.view = Unsqueeze(x.view, 0);
  Convolution g;
  g.groups = AsInt(args["groups"]).value_or(1);
  g.transposed = op.starts_with("conv_transpose") || AsBool(args["transposed"], false);
  g.n = x.sizes()[0];
  g.c = x.sizes()[1] / g.groups;
  const int64_t channels = out[batched ? 1 : 0];
  g.o = channels / g.groups;
  g.in.assign(x.sizes().begin() + 2, x.sizes().end());
  g.kernel.assign(weight.sizes().begin() + 2, weight.sizes().end());
  g.out.assign(out.end() - static_cast<int64_t>(spatial), out.end());
  g.stride = PerDimension(args, "stride", spatial, 1);
  g.padding = PerDimension(args, "padding", spatial, 0);
  g.dilation = PerDimension(args, "dilation", spatial, 1);
  if (g.o == 1) {
    b.Return({Depthwise(b, x, weight, args, g, out)});
    return true;
  }
  std::optional<Value> bias;
  if (b.HasTensor(args, "bias")) bias = b.Tensor(args, "bias");
  b.Return({b.Reshape(ResultOf(b, x, weight, bias, g, out), out)});
  return true;
}

}  // namespace tritogen::teach
