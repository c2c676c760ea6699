// Resizing: each element is a weighted sum of neighbours, read by index. The nearest one is found in float32
// as PyTorch does, so that both round to the same one. Between neighbours places are fractions of integers
// where sizes make them: float32 is off by 1e-4 of an element among two thousand.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

std::string FloatText(float value) {
  return PythonLiteral(Arg{static_cast<double>(value)});
}

// Input elements for one output element.
struct Scale {
  float value;
  std::string text;  // as Python
};

// A scale that the caller gave counts, else the sizes' ratio. That is written as a quotient, which a reader
// need not compute, where Python's, rounded, is PyTorch's.
Scale ScaleOf(const BoundArgs& args, std::string_view name, int64_t in, int64_t out, bool align_corners) {
  const auto ratio = [](int64_t a, int64_t b) -> Scale {
    const float value = static_cast<float>(a) / static_cast<float>(b);
    const bool same = static_cast<float>(static_cast<double>(a) / static_cast<double>(b)) == value;
    return {value, same ? fmt::format("({} / {})", a, b) : FloatText(value)};
  };
  if (align_corners) return out > 1 ? ratio(in - 1, out - 1) : Scale{0.0f, FloatText(0.0f)};
  auto given = AsNumber(args[name]);
  if (!given || *given <= 0) return ratio(in, out);
  const float value = static_cast<float>(1.0 / *given);
  return {value, FloatText(value)};
}

std::vector<std::string> ScaleNames(size_t spatial) {
  if (spatial == 1) return {"scales"};
  std::vector<std::string> names = {"scales_d", "scales_h", "scales_w"};
  return {names.end() - static_cast<int64_t>(spatial), names.end()};
}

// The nearest neighbour along a dimension of n elements.
Value Nearest(Builder& b, const Value& o, int64_t n, const Scale& scale) {
  if (const auto number = ConstantIndex(o.view)) {
    const auto place = static_cast<int64_t>(static_cast<float>(*number) * scale.value);
    return b.Affine("index", {{0, o}}, std::min(place, n - 1));
  }
  const std::string place = fmt::format("({{0}}.to(tl.float32) * {}).to(tl.int32)", scale.text);
  return b.Pointwise("index", fmt::format("tl.minimum({}, {})", place, n - 1), {o}, Dtype::kInt32, 0);
}

// Where an output element o lies among the input's: (o · step + first) / unit, at least -1/2.
struct Fraction {
  int64_t step, first, unit;
};

// Nothing where sizes do not decide it, or int32 does not hold it.
std::optional<Fraction> FractionOf(const BoundArgs& args, std::string_view name, int64_t in, int64_t out,
                                   bool align_corners) {
  const auto given = AsNumber(args[name]);
  const bool by_sizes = align_corners || !given || *given <= 0 || *given * static_cast<double>(in) == out;
  if (!by_sizes) return std::nullopt;
  if (align_corners && out == 1) return Fraction{0, 0, 1};
  const int64_t from = align_corners ? in - 1 : in, to = align_corners ? out - 1 : out;
  const int64_t common = std::gcd(from, to), step = from / common, unit = to / common;
  const Fraction fraction =
      align_corners ? Fraction{step, 0, unit} : Fraction{2 * step, step - unit, 2 * unit};
  const bool fits = out * fraction.step + 2 * fraction.unit <= std::numeric_limits<int32_t>::max();
  return fits ? std::optional(fraction) : std::nullopt;
}

// A place between two elements: the left one, -1 at the least, and how far it is from there.
struct Place {
  Value low, share;  // int32, float32
};

// `left`: places before the first element are there.
Place PlaceOf(Builder& b, const Value& o, const Fraction& at, bool left) {
  // Integers are divided towards zero.
  const bool below = at.first < 0 && !left;
  const int64_t first = at.first + (below ? at.unit : 0);
  std::string steps = fmt::format("{{0}} * {}", at.step);
  if (first != 0) steps += fmt::format(" {} {}", first < 0 ? '-' : '+', std::abs(first));
  if (first < 0) steps = fmt::format("tl.maximum({}, 0)", steps);
  const Value place = b.Pointwise("place", fmt::format("({})", steps), {o}, Dtype::kInt32, 0);
  const Value low = b.Pointwise("low", fmt::format("({{0}} // {}{})", at.unit, below ? " - 1" : ""), {place},
                                Dtype::kInt32, 0);
  const Value share =
      b.Pointwise("share", fmt::format("(({{0}} % {}).to(tl.float32) / {})", at.unit, at.unit), {place},
                  Dtype::kFloat32, 0);
  return {low, share};
}

// In float32, as PyTorch has it.
Place PlaceOf(Builder& b, const Value& o, const Scale& scale, bool align_corners, bool left) {
  std::string source = align_corners ? fmt::format("({{0}}.to(tl.float32) * {})", scale.text)
                                     : fmt::format("(({{0}}.to(tl.float32) + 0.5) * {} - 0.5)", scale.text);
  if (!align_corners && left) source = fmt::format("tl.maximum({}, 0.0)", source);
  const Value place = b.Pointwise("place", source, {o}, Dtype::kFloat32, 0);
  const Value low = b.Pointwise("low", "tl.floor({0}).to(tl.int32)", {place}, Dtype::kInt32, 0);
  const Value share = b.Pointwise("share", "({0} - {1}.to(tl.float32))", {place, low}, Dtype::kFloat32, 0);
  return {low, share};
}

// Neighbours along one dimension and their weights.
struct Taps {
  std::vector<Value> index, weight;
};

Taps LinearTaps(Builder& b, const Place& place, int64_t n) {
  const std::string last = std::to_string(n - 1);
  const Value low =
      b.Pointwise("low", fmt::format("tl.minimum({{0}}, {})", last), {place.low}, Dtype::kInt32, 0);
  const Value high =
      b.Pointwise("high", fmt::format("tl.minimum({{0}} + 1, {})", last), {place.low}, Dtype::kInt32, 0);
  const Value rest = b.Pointwise("rest", "1.0 - {0}", {place.share}, Dtype::kFloat32, 0);
  return {{low, high}, {rest, place.share}};
}

// Keys' cubic with a = -0.75.
Taps CubicTaps(Builder& b, const Place& place, int64_t n) {
  Taps taps;
  for (int64_t k = -1; k <= 2; ++k) {
    taps.index.push_back(b.Pointwise("index",
                                     fmt::format("tl.minimum(tl.maximum({{0}} + {}, 0), {})", k, n - 1),
                                     {place.low}, Dtype::kInt32, 0));
    // By the distance to the nearer one: terms that grow with the other's would cancel each other.
    const std::string x = k <= 0 ? "{0}" : "(1.0 - {0})", y = k <= 0 ? "(1.0 - {0})" : "{0}";
    const std::string near = fmt::format("((1.25 * {0} - 2.25) * {0} * {0} + 1.0)", x);
    const std::string far = fmt::format("(-0.75 * {0} * {1} * {1})", x, y);
    taps.weight.push_back(
        b.Pointwise("weight", k == 0 || k == 1 ? near : far, {place.share}, Dtype::kFloat32, 0));
  }
  return taps;
}

// Σ over the neighbours along dimensions s, s + 1, … of weight · element.
Value WeightedSum(Builder& b, const Value& x, const std::vector<Taps>& taps, size_t s,
                  std::vector<Value>& index) {
  if (s == taps.size()) return b.Load("neighbour", x, index);
  const size_t dim = index.size() - taps.size() + s;
  std::optional<Value> sum;
  for (size_t k = 0; k < taps[s].index.size(); ++k) {
    index[dim] = taps[s].index[k];
    Value part = WeightedSum(b, x, taps, s + 1, index);
    Value term = b.Op("mul", {part, taps[s].weight[k]}, ComputeDtype(x.dtype));
    sum = sum ? b.Op("add", {*sum, term}, ComputeDtype(x.dtype)) : term;
  }
  return *sum;
}

}  // namespace

bool LowerResize(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "self");
  const std::vector<int64_t>& out = node.results[0].sizes;
  if (!IsFloating(x.dtype) || x.dtype == Dtype::kFloat64 || x.view.rank() < 3 || !x.view.guards.empty())
    return false;
  const size_t spatial = out.size() - 2;
  std::vector<Value> index = b.Indices(out);
  const auto names = ScaleNames(spatial);
  const bool align = AsBool(args["align_corners"], false);
  std::vector<Taps> taps;
  for (size_t s = 0; s < spatial; ++s) {
    Value& o = index[2 + s];
    const int64_t n = x.sizes()[2 + s];
    const Scale scale = ScaleOf(args, names[s], n, out[2 + s], align);
    if (op.find("nearest") != std::string_view::npos) {
      o = Nearest(b, o, n, scale);
    } else {
      const bool cubic = op.find("cubic") != std::string_view::npos;
      const auto fraction = FractionOf(args, names[s], n, out[2 + s], align);
      const Place place = fraction ? PlaceOf(b, o, *fraction, !cubic) : PlaceOf(b, o, scale, align, !cubic);
      taps.push_back(cubic ? CubicTaps(b, place, n) : LinearTaps(b, place, n));
    }
  }
  b.Return({WeightedSum(b, x, taps, 0, index)});
  return true;
}

}  // namespace tritogen::teach
