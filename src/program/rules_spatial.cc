// Shape rules of convolutions, pools, resizing, padding and the norms that know channels.
#include "program/catalogue.h"
#include "program/rules.h"

namespace tritogen::rules {
namespace {

// Where the spatial dimensions of [N, C, …] or [C, …] start: `spatial` of them at the end.
int SpatialStart(ShapeBuilder& b, const Terms& in, int spatial) {
  const int start = static_cast<int>(in.size()) - spatial;
  b.Require(start == 1 || start == 2, "rank of the input");
  return start;
}

// An attribute's declared number of items: 2 of `int[2] kernel_size`.
int CountOf(const ShapeBuilder& b, std::string_view param) {
  const Param* found = b.signature().Find(param);
  return found == nullptr ? 0 : found->count;
}

}  // namespace

// input [N, C, …], weight [O, C / groups, k…], bias [O].
void Conv(ShapeBuilder& b) {
  const Terms &x = b.In("input"), &w = b.In("weight");
  const int spatial = static_cast<int>(w.size()) - 2;
  if (!b.Require(spatial >= 1 && spatial <= 3, "rank of the weight")) return;
  const int start = SpatialStart(b, x, spatial);
  if (b.failed()) return;
  const Term groups = b.Attribute("groups", 1);
  b.RequireProduct({x[start - 1]}, {w[1], groups}, "channels are groups times the weight's channels");
  b.RequireDivides(groups, w[0], "groups divide the outputs");
  if (b.Has("bias")) b.RequireEqual(b.In("bias"), {w[0]}, "one bias an output");
  const Terms stride = b.Attributes("stride", spatial, 1), padding = b.Attributes("padding", spatial, 0),
              dilation = b.Attributes("dilation", spatial, 1);
  if (b.failed()) return;
  Terms out(x.begin(), x.begin() + start - 1);
  out.push_back(w[0]);
  for (int i = 0; i < spatial; ++i)
    out.push_back(b.WindowOut({x[start + i], w[2 + i], stride[i], padding[i], dilation[i]}));
  b.Result(std::move(out));
}

// input [N, C, …], weight [C, O / groups, k…], bias [O].
void ConvTranspose(ShapeBuilder& b) {
  const Terms &x = b.In("input"), &w = b.In("weight");
  const int spatial = static_cast<int>(w.size()) - 2;
  if (!b.Require(spatial >= 1 && spatial <= 3, "rank of the weight")) return;
  const int start = SpatialStart(b, x, spatial);
  if (b.failed()) return;
  const Term groups = b.Attribute("groups", 1);
  b.RequireEqual(x[start - 1], w[0], "the weight's first size is the input's channels");
  b.RequireDivides(groups, w[0], "groups divide the channels");
  const Term outputs = b.Times({w[1], groups});
  if (b.Has("bias")) b.RequireEqual(b.In("bias"), {outputs}, "one bias an output");
  const Terms stride = b.Attributes("stride", spatial, 1), padding = b.Attributes("padding", spatial, 0),
              dilation = b.Attributes("dilation", spatial, 1),
              extra = b.Attributes("output_padding", spatial, 0);
  if (b.failed()) return;
  Terms out(x.begin(), x.begin() + start - 1);
  out.push_back(outputs);
  for (int i = 0; i < spatial; ++i)
    out.push_back(b.WindowIn({x[start + i], w[2 + i], stride[i], padding[i], dilation[i]}, extra[i]));
  b.Result(std::move(out));
}

void Convolution(ShapeBuilder& b) {
  b.Flag("transposed") ? ConvTranspose(b) : Conv(b);
}

// Windows of the last dimensions; padding at most half a kernel.
void Pool(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  const int spatial = CountOf(b, "kernel_size");
  const int start = SpatialStart(b, x, spatial);
  if (b.failed()) return;
  const Terms kernel = b.Attributes("kernel_size", spatial, 1);
  const Terms stride = b.Given("stride") ? b.Attributes("stride", spatial, 1) : kernel;
  const Terms padding = b.Attributes("padding", spatial, 0), dilation = b.Attributes("dilation", spatial, 1);
  if (b.failed()) return;
  Terms out(x.begin(), x.begin() + start);
  for (int i = 0; i < spatial; ++i) {
    b.RequireAtMost({{2, padding[i]}, {-1, kernel[i]}}, 0, "padding is more than half the kernel");
    if (b.row().name == "avg_pool3d")  // it alone does not count padding here
      b.RequireAtMost({{1, kernel[i]}, {-1, x[start + i]}}, 0, "the kernel is larger than the input");
    out.push_back(
        b.WindowOut({x[start + i], kernel[i], stride[i], padding[i], dilation[i]}, b.Flag("ceil_mode")));
  }
  b.Result(std::move(out));
}

void PoolTwice(ShapeBuilder& b) {
  Pool(b);
  b.ResultAgain();
}

void AdaptivePool(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  const int spatial = CountOf(b, "output_size");
  const int start = SpatialStart(b, x, spatial);
  if (b.failed()) return;
  Terms out(x.begin(), x.begin() + start);
  for (const Term& size : b.Attributes("output_size", spatial, 1)) out.push_back(size);
  b.Result(std::move(out));
}

void AdaptivePoolTwice(ShapeBuilder& b) {
  AdaptivePool(b);
  b.ResultAgain();
}

void Upsample(ShapeBuilder& b) {
  const Terms& x = b.In("self");
  const int spatial = CountOf(b, "output_size");
  if (!b.Require(static_cast<int>(x.size()) == spatial + 2, "rank of the input")) return;
  Terms out(x.begin(), x.begin() + 2);
  for (const Term& size : b.Attributes("output_size", spatial, 1)) out.push_back(size);
  b.Result(std::move(out));
}

// [..., C·r², H, W] → [..., C, H·r, W·r]
void PixelShuffle(ShapeBuilder& b) {
  Terms x = b.In("self");
  const Term r = b.Attribute("upscale_factor", 1);
  if (!b.Require(x.size() >= 3, "rank of the input")) return;
  Term& channels = x[x.size() - 3];
  channels = b.Over(channels, b.Times({r, r}), "the square of the factor divides the channels");
  for (size_t i = x.size() - 2; i < x.size(); ++i) x[i] = b.Times({x[i], r});
  b.Result(std::move(x));
}

void PixelUnshuffle(ShapeBuilder& b) {
  Terms x = b.In("self");
  const Term r = b.Attribute("downscale_factor", 1);
  if (!b.Require(x.size() >= 3, "rank of the input")) return;
  x[x.size() - 3] = b.Times({x[x.size() - 3], r, r});
  for (size_t i = x.size() - 2; i < x.size(); ++i) x[i] = b.Over(x[i], r, "the factor divides the sizes");
  b.Result(std::move(x));
}

// Pairs (before, after) from the last dimension on; negative ones cut.
void Pad(ShapeBuilder& b) {
  Terms x = b.In("self");
  const Terms pad = b.Attributes("pad");
  if (!b.Require(pad.size() % 2 == 0 && pad.size() / 2 <= x.size(), "pad has two numbers a dimension"))
    return;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    Term& size = x[x.size() - 1 - i];
    size = b.Plus({{1, size}, {1, pad[2 * i]}, {1, pad[2 * i + 1]}});
  }
  b.Result(std::move(x));
}

namespace {

void EdgePad(ShapeBuilder& b, bool reflects) {
  Terms x = b.In("self");
  const int spatial = CountOf(b, "padding") / 2;
  SpatialStart(b, x, spatial);
  const Terms pad = b.Attributes("padding", 2 * spatial, 0);
  if (b.failed()) return;
  for (int i = 0; i < spatial; ++i) {
    Term& size = x[x.size() - 1 - i];
    for (int side = 0; side < 2 && reflects; ++side)
      b.RequireAtMost({{1, pad[2 * i + side]}, {-1, size}}, 1, "a reflection is smaller than the dimension");
    size = b.Plus({{1, size}, {1, pad[2 * i]}, {1, pad[2 * i + 1]}});
  }
  b.Result(std::move(x));
}

}  // namespace

void ReflectPad(ShapeBuilder& b) {
  EdgePad(b, true);
}

void ReplicatePad(ShapeBuilder& b) {
  EdgePad(b, false);
}

namespace {

// input [N, C, …]; everything else [C]. Statistics of the input itself are over the dimensions from `counted`
// on and need more than one element a channel; −1: they are not taken.
void ChannelNorm(ShapeBuilder& b, int counted) {
  const Terms& x = b.In("input");
  if (!b.Require(x.size() >= 2, "rank of the input")) return;
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    if (b.Has(name)) b.RequireEqual(b.In(name), {x[1]}, "one number a channel");
  }
  if (counted >= 0) {
    Terms rest(x.begin() + 2, x.end());
    if (counted == 0) rest.push_back(x[0]);
    b.RequireRange(b.Times(rest), 2, kUnboundedSize, "more than one element a channel");
  }
  b.Result(x);
}

}  // namespace

void BatchNorm(ShapeBuilder& b) {
  ChannelNorm(b, b.Flag("training") ? 0 : -1);
}

void BatchNormAlone(ShapeBuilder& b) {
  ChannelNorm(b, -1);
}

void InstanceNorm(ShapeBuilder& b) {
  ChannelNorm(b, b.Flag("use_input_stats") ? 2 : -1);
}

namespace {

void Grouped(ShapeBuilder& b, Term groups) {
  const Terms& x = b.In("input");
  if (!b.Require(x.size() >= 2, "rank of the input")) return;
  b.RequireDivides(groups, x[1], "groups divide the channels");
  for (const char* name : {"weight", "bias"}) {
    if (b.Has(name)) b.RequireEqual(b.In(name), {x[1]}, "one number a channel");
  }
}

}  // namespace

void GroupNorm(ShapeBuilder& b) {
  Grouped(b, b.Attribute("num_groups", 1));
  const Terms& x = b.In("input");
  if (b.failed()) return;
  b.RequireRange(b.Times(x), 2, kUnboundedSize, "more than one element");
  b.Result(x);
}

// N, C and HxW repeat the input's sizes.
void NativeGroupNorm(ShapeBuilder& b) {
  const Terms& x = b.In("input");
  const Term groups = b.Attribute("group", 1);
  Grouped(b, groups);
  if (b.failed()) return;
  b.RequireEqual(b.Attribute("N"), x[0], "N is the first size");
  b.RequireEqual(b.Attribute("C"), x[1], "C is the second size");
  b.RequireEqual(b.Attribute("HxW"), b.Times(Terms(x.begin() + 2, x.end())), "HxW is the rest");
  b.Result(x);
  b.Result({x[0], groups});
  b.ResultAgain();
}

// The last dimensions are normalized_shape; weight and bias have that shape.
void LayerNorm(ShapeBuilder& b) {
  const Terms& x = b.In("input");
  const Terms shape = b.Attributes("normalized_shape");
  if (!b.Require(!shape.empty() && shape.size() <= x.size(), "normalized_shape is the end of the input's"))
    return;
  const size_t lead = x.size() - shape.size();
  b.RequireEqual(Terms(x.begin() + static_cast<int64_t>(lead), x.end()), shape,
                 "normalized_shape is the end of the input's");
  for (const char* name : {"weight", "bias"}) {
    if (b.Has(name)) b.RequireEqual(b.In(name), shape, "weight and bias have the normalized shape");
  }
  b.Result(x);
  Terms rows = x;
  for (size_t axis = lead; axis < x.size(); ++axis) rows[axis] = Term::Of(1);
  for (int i = 1; i < b.signature().results; ++i) b.Result(rows);
}

}  // namespace tritogen::rules
