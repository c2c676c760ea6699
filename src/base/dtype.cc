#include "base/dtype.h"

#include <array>

namespace tritogen {
namespace {

struct Row {
  std::string_view name;
  uint8_t size;
  bool floating;
};

constexpr std::array<Row, kDtypeCount> kRows = {{
    {"bool", 1, false},
    {"uint8", 1, false},
    {"int8", 1, false},
    {"int16", 2, false},
    {"int32", 4, false},
    {"int64", 8, false},
    {"uint16", 2, false},
    {"uint32", 4, false},
    {"uint64", 8, false},
    {"float8_e4m3fn", 1, true},
    {"float8_e5m2", 1, true},
    {"float16", 2, true},
    {"bfloat16", 2, true},
    {"float32", 4, true},
    {"float64", 8, true},
    {"complex64", 8, false},
    {"complex128", 16, false},
}};

const Row& RowOf(Dtype dtype) {
  return kRows[static_cast<size_t>(dtype)];
}

}  // namespace

std::string_view DtypeName(Dtype dtype) {
  return RowOf(dtype).name;
}

std::optional<Dtype> DtypeFromName(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

size_t DtypeSize(Dtype dtype) {
  return RowOf(dtype).size;
}
bool IsFloating(Dtype dtype) {
  return RowOf(dtype).floating;
}
bool IsComplex(Dtype dtype) {
  return dtype == Dtype::kComplex64 || dtype == Dtype::kComplex128;
}

}  // namespace tritogen
