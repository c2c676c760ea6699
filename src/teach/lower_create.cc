// Tensors made from numbers.
#include <fmt/format.h>

#include "program/triton_dtype.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// In which places along a line are counted where its numbers are to be `dtype`.
std::string_view Counted(Dtype dtype) {
  return dtype == Dtype::kFloat64 ? "tl.float64" : "tl.float32";
}

bool LowerRange(Builder& b, const Shape& result, double start, double step) {
  Value i = b.Index(result.sizes, 0);
  if (!IsFloating(result.dtype)) {
    b.Return({b.Pointwise("range",
                          fmt::format("({} + {{0}} * {}).to({})", static_cast<int64_t>(start),
                                      static_cast<int64_t>(step), TritonDtype(result.dtype)),
                          {i}, result.dtype, 0)});
    return true;
  }
  b.Return({b.Pointwise("range",
                        fmt::format("{} + {{0}}.to({}) * {}", PythonLiteral(Arg{start}),
                                    Counted(result.dtype), PythonLiteral(Arg{step})),
                        {i}, result.dtype, 0)});
  return true;
}

}  // namespace

bool LowerCreate(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  const Shape& result = node.results[0];
  auto number = [&](std::string_view name, double otherwise) {
    return AsNumber(args[name]).value_or(otherwise);
  };
  if (op.starts_with("full")) {
    b.Return({b.Fill(result.sizes, result.dtype, args["fill_value"])});
  } else if (op.starts_with("zeros") || op.starts_with("ones") || op.starts_with("empty")) {
    // What nobody wrote may be anything, so it may be zero.
    b.Return({b.Fill(result.sizes, result.dtype, Arg{int64_t{op.starts_with("ones")}})});
  } else if (op == "scalar_tensor") {
    b.Return({b.Fill(result.sizes, result.dtype, args["s"])});
  } else if (op == "arange") {
    return LowerRange(b, result, number("start", 0), number("step", 1));
  } else if (op == "eye") {
    Value same = b.Pointwise("same", "{0} == {1}", {b.Index(result.sizes, 0), b.Index(result.sizes, 1)},
                             Dtype::kBool, 0);
    b.Return({b.Cast(same, result.dtype)});
  } else if (op == "linspace" && IsFloating(result.dtype)) {
    // From both ends, as PyTorch does.
    const int64_t steps = result.sizes[0];
    const double start = number("start", 0), end = number("end", 0);
    const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
    std::string expr =
        fmt::format("tl.where({{0}} < {0}, {1} + {3} * {{0}}.to({5}), {2} - {3} * ({4} - {{0}}).to({5}))",
                    std::max<int64_t>(steps / 2, 1), PythonLiteral(Arg{start}), PythonLiteral(Arg{end}),
                    PythonLiteral(Arg{step}), steps - 1, Counted(result.dtype));
    b.Return({b.Pointwise("line", expr, {b.Index(result.sizes, 0)}, result.dtype, 0)});
  } else if (op == "rand_like" || op == "randn_like") {
    b.Return({b.DrawnOnOnes(result)});
  } else {
    return false;  // random numbers
  }
  return true;
}

}  // namespace tritogen::teach
