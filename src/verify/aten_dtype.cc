#include "verify/aten_dtype.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

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

std::string Describe(at::ScalarType type, at::IntArrayRef sizes) {
  auto dtype = FromScalarType(type);
  std::string name = dtype ? std::string(DtypeName(*dtype)) : std::string(c10::toString(type));
  return fmt::format("{}[{}]", name, fmt::join(sizes.begin(), sizes.end(), ", "));
}

}  // namespace tritogen
