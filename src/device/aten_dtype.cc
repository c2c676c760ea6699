#include "device/aten_dtype.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace tritogen {
namespace {

constexpr std::array<at::ScalarType, kDtypeCount> kTypes = {
    at::kBool,     at::kByte,   at::kChar,   at::kShort,         at::kInt,          at::kLong,
    at::kUInt16,   at::kUInt32, at::kUInt64, at::kFloat8_e4m3fn, at::kFloat8_e5m2,  at::kHalf,
    at::kBFloat16, at::kFloat,  at::kDouble, at::kComplexFloat,  at::kComplexDouble};

}  // namespace

at::ScalarType ToScalarType(Dtype dtype) {
  return kTypes[static_cast<size_t>(dtype)];
}

at::ScalarType InFloat64(Dtype dtype) {
  if (IsFloating(dtype)) return at::kDouble;
  return IsComplex(dtype) ? at::kComplexDouble : ToScalarType(dtype);
}

std::optional<Dtype> FromScalarType(at::ScalarType type) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == type) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

double LargestOf(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::max();
    case at::kFloat:
      return std::numeric_limits<float>::max();
    case at::kHalf:
      return std::numeric_limits<at::Half>::max();
    case at::kBFloat16:
      return std::numeric_limits<at::BFloat16>::max();
    case at::kFloat8_e4m3fn:
      return std::numeric_limits<at::Float8_e4m3fn>::max();
    case at::kFloat8_e5m2:
      return std::numeric_limits<at::Float8_e5m2>::max();
    default:
      throw std::logic_error("no floating dtype");
  }
}

double UnitRoundoff(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::ldexp(1.0, -53);
    case at::kFloat:
      return std::ldexp(1.0, -24);
    case at::kHalf:
      return std::ldexp(1.0, -11);
    case at::kBFloat16:
      return std::ldexp(1.0, -8);
    case at::kFloat8_e4m3fn:
      return std::ldexp(1.0, -4);
    case at::kFloat8_e5m2:
      return std::ldexp(1.0, -3);
    default:
      return 0;
  }
}

std::string Describe(at::ScalarType type, at::IntArrayRef sizes) {
  auto dtype = FromScalarType(type);
  std::string name = dtype ? std::string(DtypeName(*dtype)) : std::string(c10::toString(type));
  return fmt::format("{}[{}]", name, fmt::join(sizes.begin(), sizes.end(), ", "));
}

}  // namespace tritogen
