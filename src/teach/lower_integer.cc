#include <fmt/format.h>

#include <algorithm>

#include "teach/lowering.h"

namespace tritogen::teach {

bool FitsIntegers(std::string_view name) {
  constexpr std::string_view kNames[] = {"add",
                                         "sub",
                                         "rsub",
                                         "mul",
                                         "neg",
                                         "abs",
                                         "square",
                                         "maximum",
                                         "minimum",
                                         "max.other",
                                         "min.other",
                                         "clamp",
                                         "clamp_min",
                                         "clamp_max",
                                         "where",
                                         "masked_fill",
                                         "bitwise_and",
                                         "bitwise_or",
                                         "bitwise_xor",
                                         "bitwise_not",
                                         "sign",
                                         "relu",
                                         "relu6",
                                         "hardtanh",
                                         "threshold",
                                         "floor",
                                         "ceil",
                                         "trunc",
                                         "round",
                                         "addcmul",
                                         "remainder",
                                         "fmod",
                                         "div.Tensor_mode",
                                         "bitwise_left_shift",
                                         "bitwise_right_shift"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

OpRow ForIntegers(const OpRow& row, Dtype dtype) {
  const std::string rest = "(({self} % {other} + {other}) % {other})";
  OpRow exact = row;
  // Truth values that are added: one bit has no room for two of them.
  if (row.name == "add" && dtype == Dtype::kBool) exact.cases = {{"alpha=1", "{self} | {other}"}};
  if (row.name == "relu") exact.cases = {{"", "tl.where({self} < 0, 0, {self})"}};
  if (row.name == "relu6") exact.cases = {{"", "tl.where({self} < 0, 0, tl.where({self} > 6, 6, {self}))"}};
  for (std::string_view rounding : {"floor", "ceil", "trunc", "round"}) {
    if (row.name == rounding) exact.cases = {{"", "{self}"}};
  }
  if (row.name == "remainder") exact.cases = {{"", rest}};
  if (row.name == "fmod") exact.cases = {{"", "{self} % {other}"}};
  if (row.name == "sign") exact.cases = {{"", "tl.where({self} > 0, 1, tl.where({self} < 0, -1, 0))"}};
  if (row.name == "div.Tensor_mode") {
    exact.cases = {{"rounding_mode='floor'", fmt::format("({{self}} - {}) // {{other}}", rest)},
                   {"rounding_mode='trunc'", "{self} // {other}"}};
  }
  return exact;
}

namespace {

// By the bits of the exponent. Squares of even numbers are 0 from the 64th power on, those of odd ones go
// round.
Value PowerOfTensors(Builder& b, const Value& base, const Value& exponent) {
  const Dtype dtype = base.dtype;
  const int bits = static_cast<int>(DtypeSize(dtype)) * 8 - 1;  // without the sign
  Value square = base;
  Value power = b.Pointwise("pow", "tl.where({0} & 1 != 0, {1}, 1)", {exponent, base}, dtype, 1);
  for (int bit = 1; bit < bits; ++bit) {
    square = b.Pointwise("square", "{0} * {0}", {square}, dtype, 1);
    power = b.Pointwise("pow", fmt::format("tl.where(({{0}} >> {}) & 1 != 0, {{1}} * {{2}}, {{1}})", bit),
                        {exponent, power, square}, dtype, 1);
  }
  return b.Pointwise(
      "pow", "tl.where({0} >= 0, {1}, tl.where({2} == 1, 1, tl.where({2} == -1, 1 - 2 * ({0} & 1), 0)))",
      {exponent, power, base}, dtype, 3);
}

}  // namespace

// Integer powers, which wrap around like products: of a number by the bits of the exponent, of a tensor by
// repeated products, or by the bits of each exponent.
bool LowerIntegerPower(Builder& b, const Node& node, const BoundArgs& args) {
  constexpr int64_t kMostFactors = 8;
  const auto base = AsInt(args["self"]), exponent = AsInt(args["exponent"]);
  const Dtype dtype = node.results[0].dtype;
  if (exponent && *exponent > 0 && *exponent <= kMostFactors && AsRef(args["self"]) != nullptr) {
    std::string product = "{0}";
    for (int64_t i = 1; i < *exponent; ++i) product += " * {0}";
    b.Return({b.Pointwise("pow", product, {b.Cast(b.Tensor(args, "self"), dtype)}, dtype, 1)});
    return true;
  }
  if (AsRef(args["self"]) != nullptr && AsRef(args["exponent"]) != nullptr) {
    b.Return({PowerOfTensors(b, b.Cast(b.Tensor(args, "self"), dtype),
                             b.Cast(b.Tensor(args, "exponent"), dtype))});
    return true;
  }
  if (!base || *base < 2 || AsRef(args["exponent"]) == nullptr) return false;
  std::string product;
  uint64_t factor = static_cast<uint64_t>(*base);
  for (int bit = 0; bit < 6; ++bit, factor *= factor) {
    product += fmt::format("{}tl.where(({{0}} >> {}) & 1 != 0, {}, 1)", bit == 0 ? "" : " * ", bit,
                           static_cast<int64_t>(factor));
  }
  Value power = b.Cast(b.Tensor(args, "exponent"), Dtype::kInt64);
  b.Return({b.Pointwise("pow", "tl.where({0} < 0, 0, " + product + ")", {power}, Dtype::kInt64, 6)});
  return true;
}

}  // namespace tritogen::teach
