// Pools: a reduction over the elements of a window, read by index, or several, each over some dimensions of
// the window. Windows of equal size and windows that divide a dimension as evenly as they can (adaptive)
// differ only in where they start and end.
#include <fmt/format.h>

#include <algorithm>

#include "teach/lowering.h"
#include "teach/pool_passes.h"

namespace tritogen::teach {
namespace {

int64_t AdaptiveStart(int64_t o, int64_t n, int64_t count) {
  return o * n / count;
}
int64_t AdaptiveEnd(int64_t o, int64_t n, int64_t count) {
  return ((o + 1) * n + count - 1) / count;
}

Windows Adaptive(int64_t n, int64_t count) {
  Windows w{count, 0, n};
  w.adaptive = true;
  int64_t shortest = n;
  for (int64_t o = 0; o < count; ++o) {
    const int64_t length = AdaptiveEnd(o, n, count) - AdaptiveStart(o, n, count);
    w.longest = std::max(w.longest, length);
    shortest = std::min(shortest, length);
  }
  w.inside = shortest == w.longest;
  return w;
}

struct Pool {
  std::vector<Windows> windows;     // by spatial dimension
  std::vector<int64_t> out, space;  // sizes of the result; the same with the windows' dimensions behind
  std::vector<Value> index;         // of the element, in the input
  std::optional<Value> valid;
};

std::string StartText(const Windows& w, std::string_view o) {
  if (w.adaptive && w.input % w.count == 0) return fmt::format("{} * {}", o, w.input / w.count);
  if (w.adaptive) return fmt::format("({} * {} // {})", o, w.input, w.count);
  std::string text = w.stride == 1 ? std::string(o) : fmt::format("{} * {}", o, w.stride);
  return w.padding == 0 ? text : fmt::format("{} - {}", text, w.padding);
}

std::string EndText(const Windows& w, std::string_view o) {
  return fmt::format("((({} + 1) * {} + {}) // {})", o, w.input, w.count - 1, w.count);
}

// The input's element that element k of window o is.
Value ElementOf(Builder& b, const Windows& w, const Value& o, const Value& k) {
  if (w.adaptive && w.input % w.count != 0) {
    Value start =
        b.Pointwise("start", fmt::format("{{0}} * {} // {}", w.input, w.count), {o}, Dtype::kInt32, 0);
    return b.Affine("index", {{1, start}, {1, k}}, 0);
  }
  return b.Affine("index", {{w.adaptive ? w.input / w.count : w.stride, o}, {w.dilation, k}}, -w.padding);
}

Pool Lay(Builder& b, const std::vector<Windows>& windows, const std::vector<int64_t>& out) {
  Pool p{windows, out, out, {}, {}};
  for (const Windows& w : windows) p.space.push_back(w.longest);
  const size_t lead = out.size() - windows.size();
  p.index = b.Indices(p.space);
  Conditions inside;
  for (size_t s = 0; s < windows.size(); ++s) {
    const Windows& w = windows[s];
    Value o = p.index[lead + s], k = p.index[out.size() + s];
    const Value at = ElementOf(b, w, o, k);
    p.index[lead + s] = at;
    if (w.inside) continue;
    if (w.adaptive) {
      inside.Add(at, "< " + EndText(w, inside.Hole(o)));
    } else {
      inside.Within(at, -w.padding, (w.count - 1) * w.stride + (w.longest - 1) * w.dilation - w.padding,
                    w.input);
    }
  }
  p.index.resize(out.size());
  p.valid = inside.All(b);
  return p;
}

std::vector<int64_t> WindowDims(const Pool& p) {
  std::vector<int64_t> dims;
  for (size_t s = 0; s < p.windows.size(); ++s) dims.push_back(-static_cast<int64_t>(s) - 1);
  return dims;
}

// Elements that an average divides by: a number where it is the same everywhere.
Value Divided(Builder& b, const std::vector<Windows>& windows, const Value& sum, bool with_padding,
              std::optional<int64_t> divisor) {
  std::vector<int64_t> longest;
  bool equal = true;
  for (const Windows& w : windows) {
    longest.push_back(w.longest);
    // With padding counted a window is full wherever it ends before the padding does.
    const bool full =
        !w.adaptive && with_padding && (w.count - 1) * w.stride + w.longest <= w.input + 2 * w.padding;
    equal &= w.inside || full;
  }
  if (divisor) return b.Op("div", {sum, static_cast<double>(*divisor)}, sum.dtype);
  if (equal) return b.DividedByCount("mean", sum, longest);
  std::string expr;
  std::vector<Value> in;
  const size_t lead = sum.sizes().size() - windows.size();
  for (size_t s = 0; s < windows.size(); ++s) {
    const Windows& w = windows[s];
    const std::string o = fmt::format("{{{}}}", in.size());
    in.push_back(b.Index(sum.sizes(), static_cast<int64_t>(lead + s)));
    const std::string start = StartText(w, o);
    std::string length;
    if (w.adaptive) {
      length = fmt::format("({} - {})", EndText(w, o), start);
    } else if (with_padding) {
      length = fmt::format("(tl.minimum({0} + {1}, {2}) - ({0}))", start, w.longest, w.input + w.padding);
    } else {
      length = fmt::format("(tl.minimum({0} + {1}, {2}) - tl.maximum({0}, 0))", start, w.longest, w.input);
    }
    expr += (expr.empty() ? "" : " * ") + length;
  }
  Value count = b.Pointwise("count", fmt::format("({}).to(tl.float32)", expr), in, Dtype::kFloat32, 0);
  return b.Op("div", {sum, count}, sum.dtype);
}

// Place of the largest element in the input's spatial dimensions, from its place in the window.
Value InputPlace(Builder& b, const Pool& p, const Value& arg) {
  const size_t lead = p.out.size() - p.windows.size();
  std::string expr;
  std::vector<Value> in = {arg};
  int64_t inner = 1;
  std::vector<int64_t> below(p.windows.size());
  for (size_t s = p.windows.size(); s-- > 0;) {
    below[s] = inner;
    inner *= p.windows[s].longest;
  }
  for (size_t s = 0; s < p.windows.size(); ++s) {
    const Windows& w = p.windows[s];
    const std::string o = fmt::format("{{{}}}", in.size());
    in.push_back(b.Index(p.out, static_cast<int64_t>(lead + s)));
    std::string k = fmt::format("({{0}} // {} % {} * {})", below[s], w.longest, w.dilation);
    std::string at = fmt::format("({} + {})", StartText(w, o), k);
    expr = expr.empty() ? at : fmt::format("({} * {} + {})", expr, w.input, at);
  }
  return b.Pointwise("place", expr, in, Dtype::kInt64, 2);
}

// Whether there is one window, of all elements: a reduction, whose lines need no index.
bool IsOfEverything(const std::vector<Windows>& windows) {
  return std::ranges::all_of(windows, [](const Windows& w) {
    return w.count == 1 && w.longest == w.input && w.padding == 0 && w.dilation == 1;
  });
}

std::vector<Windows> WindowsOf(const BoundArgs& args, const std::vector<int64_t>& in,
                               const std::vector<int64_t>& out, bool adaptive, bool average) {
  const size_t spatial = in.size();
  std::vector<Windows> windows;
  for (size_t s = 0; s < spatial; ++s) {
    const int64_t n = in[s], count = out[s];
    if (adaptive) {
      windows.push_back(Adaptive(n, count));
      continue;
    }
    Windows w{count, PerDimension(args, "kernel_size", spatial, 1)[s], n};
    w.stride = PerDimension(args, "stride", spatial, w.longest)[s];
    if (auto given = AsInts(args["stride"]); !given || given->empty()) w.stride = w.longest;
    w.padding = PerDimension(args, "padding", spatial, 0)[s];
    w.dilation = average ? 1 : PerDimension(args, "dilation", spatial, 1)[s];
    w.inside = w.padding == 0 && (count - 1) * w.stride + (w.longest - 1) * w.dilation < n;
    windows.push_back(w);
  }
  return windows;
}

Value Taken(Builder& b, const Pool& p, const Value& x, ReduceOp op) {
  return b.Load("window", x, p.index, p.valid, op == ReduceOp::kSum ? "0.0" : "float(\"-inf\")");
}

// Sums or maxima of windows, in as many passes as are cheapest. What is between two is float32 at least:
// nothing is rounded that a single pass would not round.
Value InPasses(Builder& b, ReduceOp op, Value x, const std::vector<Windows>& windows) {
  const size_t lead = x.sizes().size() - windows.size();
  const std::vector<int64_t> outer(x.sizes().begin(), x.sizes().begin() + static_cast<int64_t>(lead));
  for (const PoolPass& pass : CheapestPasses(windows, Product(outer))) {
    std::vector<int64_t> out = x.sizes();
    std::vector<Windows> joined;
    for (size_t s = 0; s < windows.size(); ++s) {
      joined.push_back(pass.Joins(s) ? windows[s] : SingleElements(out[lead + s]));
      out[lead + s] = joined[s].count;
    }
    const Pool p = Lay(b, joined, out);
    x = b.Reduce(op, Taken(b, p, x, op), WindowDims(p), false);
  }
  return x;
}

}  // namespace

bool LowerPool(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "self");
  const std::vector<int64_t>& out = node.results[0].sizes;
  const size_t spatial = op.find("1d") != std::string_view::npos   ? 1
                         : op.find("2d") != std::string_view::npos ? 2
                                                                   : 3;
  if (x.sizes().size() <= spatial || !IsFloating(x.dtype) || !x.view.guards.empty()) return false;
  const bool average = op.find("avg") != std::string_view::npos, adaptive = op.starts_with("adaptive");
  const size_t lead = out.size() - spatial;
  const auto spatial_of = [&](const std::vector<int64_t>& sizes) {
    return std::vector<int64_t>(sizes.begin() + static_cast<int64_t>(lead), sizes.end());
  };
  const std::vector<Windows> windows =
      WindowsOf(args, spatial_of(x.sizes()), spatial_of(out), adaptive, average);
  const auto divisor = AsInt(args["divisor_override"]);
  if (IsOfEverything(windows) && node.results.size() == 1 && !divisor) {
    std::vector<int64_t> dims;
    for (size_t s = 0; s < spatial; ++s) dims.push_back(static_cast<int64_t>(lead + s));
    b.Return({average ? b.Mean(x, dims, true) : b.Reduce(ReduceOp::kMax, x, dims, true)});
    return true;
  }
  if (average) {
    const Value sum = InPasses(b, ReduceOp::kSum, x, windows);
    b.Return({Divided(b, windows, sum, AsBool(args["count_include_pad"], true), divisor)});
  } else if (node.results.size() == 1) {
    b.Return({InPasses(b, ReduceOp::kMax, x, windows)});
  } else {  // a place is told of the whole window
    const Pool p = Lay(b, windows, out);
    const Value taken = Taken(b, p, x, ReduceOp::kMax);
    const Value largest = b.Reduce(ReduceOp::kMax, taken, WindowDims(p), false);
    const Value arg = b.Reduce(ReduceOp::kArgMax, taken, WindowDims(p), false);
    b.Return({largest, InputPlace(b, p, arg)});
  }
  return true;
}

}  // namespace tritogen::teach
