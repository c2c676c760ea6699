// Element types of tensors, as PyTorch names them. One table for Plans, programs and executors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tritogen {

enum class Dtype : uint8_t {
  kBool,
  kUint8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint16,
  kUint32,
  kUint64,
  kFloat8E4M3,
  kFloat8E5M2,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,  // complex tensors live between ATen calls only: no kernel reads them, no program takes or
               // returns them
  kComplex128,
};
inline constexpr int kDtypeCount = 17;

// "float32", "bfloat16", "float8_e4m3fn", …
std::string_view DtypeName(Dtype dtype);
// The inverse; nothing for an unknown name.
std::optional<Dtype> DtypeFromName(std::string_view name);
// Bytes of one element.
size_t DtypeSize(Dtype dtype);
bool IsFloating(Dtype dtype);  // real
bool IsComplex(Dtype dtype);

}  // namespace tritogen
