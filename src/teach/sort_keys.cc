#include "teach/sort_keys.h"

#include <fmt/format.h>

#include "base/error.h"
#include "program/triton_dtype.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kMostBelowHalf = int64_t{1} << 16;  // numbers of 16 bits

bool TakesHalf(Dtype dtype) {
  return IsHalf(dtype) || dtype == Dtype::kInt16 || dtype == Dtype::kInt8 || dtype == Dtype::kUint8;
}

}  // namespace

SortKeys::SortKeys(Dtype dtype, int64_t length, bool descending, bool numbered)
    : element_(dtype),
      descending_(descending),
      numbered_(numbered),
      half_(TakesHalf(dtype)),
      wide_(numbered && !(half_ && length <= kMostBelowHalf)) {
  TRITOGEN_CHECK(Fit(dtype));
}

bool SortKeys::Fit(Dtype dtype) {
  return TakesHalf(dtype) || dtype == Dtype::kFloat32 || dtype == Dtype::kInt32;
}

// In 32 bits. The bits of a float without its sign grow with its size: below zero they are turned over.
Value SortKeys::OfElement(Builder& b, const Value& x) const {
  const std::string turned = !descending_ ? "" : half_ ? " ^ -0x10000" : " ^ -1";
  if (!IsFloating(element_)) {
    const Value wide = b.Cast(x, Dtype::kInt32);
    if (!half_ && !descending_) return wide;
    return b.Pointwise("key", (half_ ? "({0} << 16)" : "{0}") + turned, {wide}, Dtype::kInt32, 2);
  }
  // What is added makes one of both zeros. Half types are held in float32, maybe unrounded.
  const std::string text =
      half_ ? fmt::format(
                  "tl.where({{0}} == {{0}}, ({{0}} + 0.0).to({}).to(tl.int16, bitcast=True).to(tl.int32) "
                  "<< 16, {})",
                  TritonDtype(element_), element_ == Dtype::kFloat16 ? "0x7E000000" : "0x7FC00000")
            : "tl.where({0} == {0}, ({0} + 0.0).to(tl.int32, bitcast=True), 0x7FC00000)";
  const Value bits = b.Pointwise("bits", text, {x}, Dtype::kInt32, 3);
  return b.Pointwise(
      "key", fmt::format("{{0}} ^ (({{0}} >> 31) & {}){}", half_ ? "0x7FFF0000" : "0x7FFFFFFF", turned),
      {bits}, Dtype::kInt32, 3);
}

Value SortKeys::Of(Builder& b, const Value& elements, const Value& number) const {
  const Value key = OfElement(b, elements);
  if (!numbered_) return key;
  return b.Pointwise("packed", wide_ ? "({0}.to(tl.int64) << 32) | {1}" : "{0} | {1}", {key, number}, dtype(),
                     2);
}

Value SortKeys::Element(Builder& b, const Value& packed) const {
  Value key = packed;
  if (wide_) key = b.Pointwise("key", "({0} >> 32).to(tl.int32)", {key}, Dtype::kInt32, 1);
  if (descending_) key = b.Pointwise("key", "{0} ^ -1", {key}, Dtype::kInt32, 1);
  if (!IsFloating(element_)) {
    if (half_) key = b.Pointwise("element", "{0} >> 16", {key}, Dtype::kInt32, 1);
    return b.Cast(key, element_);
  }
  const Value bits = b.Pointwise("bits", "{0} ^ (({0} >> 31) & 0x7FFFFFFF)", {key}, Dtype::kInt32, 3);
  const std::string text = half_
                               ? fmt::format("({{0}} >> 16).to(tl.int16).to({}, bitcast=True).to(tl.float32)",
                                             TritonDtype(element_))
                               : "{0}.to(tl.float32, bitcast=True)";
  return b.Pointwise("element", text, {bits}, element_, 2);
}

Value SortKeys::Number(Builder& b, const Value& key) const {
  TRITOGEN_CHECK(numbered_);
  return b.Pointwise("number", wide_ ? "{0}.to(tl.int32)" : "{0} & 0xFFFF", {key}, Dtype::kInt32, 0);
}

}  // namespace tritogen::teach
