// The small vocabulary in which the type rules of operations are written.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tile/ir.h"
#include "tile/tile.h"

namespace tritogen::tile {

// 16 bits and more: what arithmetic runs on (fp8 is only stored, cast and multiplied in dots).
inline bool IsArithFloat(Elem elem) {
  return elem >= Elem::kF16 && elem <= Elem::kF64;
}
inline bool IsNumber(Elem elem) {
  return IsInteger(elem) || IsFloat(elem);
}

inline Type ScalarOf(Elem elem) {
  return {.elem = elem};
}
inline Type WithShape(Elem elem, const std::vector<int64_t>& shape) {
  return {.elem = elem, .shape = shape};
}

// Same element type, pointees included, whatever the shapes.
inline bool SameElement(const Type& a, const Type& b) {
  return a.elem == b.elem && a.pointee == b.pointee;
}

class OpChecker {
 public:
  OpChecker(const Function& function, const Operation& op) : function_(function), op_(op) {}

  size_t inputs() const { return op_.operands.size(); }
  size_t outputs() const { return op_.results.size(); }
  const Type& In(size_t i) const { return function_.values[op_.operands[i]]; }
  const Type& Out(size_t i = 0) const { return function_.values[op_.results[i]]; }

  // The operation breaks its rules.
  [[noreturn]] void Fail(const std::string& message, bool unsupported = false) const {
    throw TtirError(op_.ttir_line, fmt::format("{}: {}", OpName(op_.code), message), unsupported);
  }
  void Require(bool holds, std::string_view message) const {
    if (!holds) Fail(std::string(message));
  }
  void Counts(size_t low, size_t high, size_t results) const {
    if (inputs() < low || inputs() > high) Fail(fmt::format("{} operands", inputs()));
    if (outputs() != results) Fail(fmt::format("{} results", outputs()));
  }
  void InIs(size_t i, const Type& wanted) const {
    if (In(i) != wanted)
      Fail(fmt::format("operand {} is {}, must be {}", i, TypeName(In(i)), TypeName(wanted)));
  }
  void OutIs(const Type& wanted, size_t i = 0) const {
    if (Out(i) != wanted)
      Fail(fmt::format("the result is {}, must be {}", TypeName(Out(i)), TypeName(wanted)));
  }
  // An i1 of the given shape.
  void MaskIs(size_t i, const std::vector<int64_t>& shape) const { InIs(i, WithShape(Elem::kI1, shape)); }

  int64_t Integer(std::string_view name) const { return Attribute<int64_t>(name, "an integer"); }
  void Word(std::string_view name, std::initializer_list<std::string_view> allowed) const {
    const std::string word = Attribute<std::string>(name, "a word");
    for (std::string_view known : allowed) {
      if (word == known) return;
    }
    Fail(fmt::format("{} = {} is not known", name, word.substr(0, 60)), /*unsupported=*/true);
  }
  template <typename T>
  const T& Attribute(std::string_view name, std::string_view kind) const {
    auto it = op_.attributes.find(name);
    const T* value = it == op_.attributes.end() ? nullptr : std::get_if<T>(&it->second);
    if (value == nullptr) Fail(fmt::format("needs {} named '{}'", kind, name));
    return *value;
  }
  // Absent, or a value of type T.
  template <typename T>
  void Optional(std::string_view name, std::string_view kind) const {
    if (op_.attributes.contains(name)) Attribute<T>(name, kind);
  }

  const Operation& op() const { return op_; }

 private:
  const Function& function_;
  const Operation& op_;
};

// Rules by part of the dialect; each handles the operations it knows and returns false for others.
bool VerifyShapeOp(const OpChecker& c);
bool VerifyMemoryOp(const OpChecker& c);
bool VerifyCollectiveOp(const OpChecker& c);

}  // namespace tritogen::tile
