#include "tile/ir.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tile/tile.h"

namespace tritogen::tile {
namespace {

struct ElemInfo {
  std::string_view name;
  int bits;
  int bytes;
};

const ElemInfo& InfoOf(Elem elem) {
  static constexpr ElemInfo kInfo[] = {
      {"i1", 1, 1},       {"i8", 8, 1},       {"i16", 16, 2},           {"i32", 32, 4},  {"i64", 64, 8},
      {"f8E4M3FN", 8, 1}, {"f8E5M2", 8, 1},   {"f16", 16, 2},           {"bf16", 16, 2}, {"f32", 32, 4},
      {"f64", 64, 8},     {"!tt.ptr", 64, 8}, {"!tt.tensordesc", 0, 0}, {"none", 0, 0},
  };
  return kInfo[static_cast<int>(elem)];
}

}  // namespace

int ElemBytes(Elem elem) {
  return InfoOf(elem).bytes;
}
int ElemBits(Elem elem) {
  return InfoOf(elem).bits;
}
bool IsFloat(Elem elem) {
  return elem >= Elem::kF8E4M3 && elem <= Elem::kF64;
}
bool IsInteger(Elem elem) {
  return elem <= Elem::kI64;
}

int64_t Type::numel() const {
  int64_t count = 1;
  for (int64_t dimension : shape) count *= dimension;
  return count;
}

std::string TypeName(const Type& type) {
  std::string element(InfoOf(type.elem).name);
  if (type.elem == Elem::kPtr) element = fmt::format("!tt.ptr<{}>", InfoOf(type.pointee).name);
  if (type.elem == Elem::kDesc) {
    element = InfoOf(type.pointee).name;
    if (type.desc_sign != 0) element.insert(0, 1, type.desc_sign);
  }
  if (type.shape.empty()) return element;
  std::string tensor = fmt::format("tensor<{}x{}>", fmt::join(type.shape, "x"), element);
  return type.elem == Elem::kDesc ? fmt::format("!tt.tensordesc<{}>", tensor) : tensor;
}

std::string_view OpName(OpCode code) {
  static constexpr std::string_view kNames[] = {
#define X(code, text) text,
#include "tile/ops.def"
#undef X
  };
  return kNames[static_cast<size_t>(code)];
}

const Function& Module::kernel() const {
  for (const Function& function : functions) {
    if (function.is_public) return function;
  }
  throw InternalError("a module without a kernel");
}

TtirError::TtirError(int line, std::string message, bool unsupported)
    : std::runtime_error(fmt::format("TTIR line {}: {}", line, message)),
      line_(line),
      unsupported_(unsupported) {}

}  // namespace tritogen::tile
