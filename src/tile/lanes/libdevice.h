// Internal to lanes: how libdevice symbols become functions over arrays. A row is a name and a lambda; the
// lambda's parameter types give the operand types. One source file per family adds its rows to the registry.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "tile/lanes/lanes.h"

namespace tritogen::tile::lanes {

using ExternRegistry = std::map<std::string, ExternFn, std::less<>>;

void AddMathExterns(ExternRegistry& registry);        // libm and special functions
void AddFastExterns(ExternRegistry& registry);        // the GPU's approximate forms
void AddIntegerExterns(ExternRegistry& registry);     // bits, integers, bit casts, classification
void AddConversionExterns(ExternRegistry& registry);  // float ↔ integer
void AddRoundedExterns(ExternRegistry& registry);     // arithmetic with a rounding mode of its own

template <class T>
constexpr Elem ElemOf() {
  if constexpr (std::is_same_v<T, float>) return Elem::kF32;
  if constexpr (std::is_same_v<T, double>) return Elem::kF64;
  return sizeof(T) == 4 ? Elem::kI32 : Elem::kI64;
}

// `Function` is a stateless lambda; type deduction reads its call operator.
template <class Function, class Signature = decltype(&Function::operator())>
struct ExternLoop;
template <class Function, class R, class... Args>
struct ExternLoop<Function, R (Function::*)(Args...) const> {
  static void Call(const void* const* operands, void* out, size_t n) {
    Run(operands, static_cast<R*>(out), n, std::index_sequence_for<Args...>());
  }
  template <size_t... kIndex>
  static void Run(const void* const* operands, R* out, size_t n, std::index_sequence<kIndex...>) {
    for (size_t i = 0; i < n; ++i) out[i] = Function{}(static_cast<const Args*>(operands[kIndex])[i]...);
  }
  static ExternFn Entry() {
    static_assert(sizeof...(Args) <= kMaxExternArity);
    return {&Call, static_cast<int>(sizeof...(Args)), {ElemOf<Args>()...}, ElemOf<R>()};
  }
};

template <class Function>
void Add(ExternRegistry& registry, std::string symbol, Function) {
  registry[std::move(symbol)] = ExternLoop<Function>::Entry();
}

// Adds `symbol` as given in f64, and `symbol`f, which computes in f64 and rounds the result to f32.
template <class R>
using Rounded = std::conditional_t<std::is_same_v<R, double>, float, R>;
template <class Function, class R, class... Args>
void AddBothOf(ExternRegistry& registry, const std::string& symbol, Function function,
               R (Function::*)(Args...) const) {
  Add(registry, symbol, function);
  Add(registry, symbol + "f", [](Rounded<Args>... x) { return static_cast<Rounded<R>>(Function{}(x...)); });
}
template <class Function>
void AddBoth(ExternRegistry& registry, const std::string& symbol, Function function) {
  AddBothOf(registry, symbol, function, &Function::operator());
}

}  // namespace tritogen::tile::lanes
