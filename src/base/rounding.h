// Sizes in whole units. REQUIRES: n ≥ 0, unit > 0, and the sum fits the type.
#pragma once

#include <concepts>
#include <type_traits>

namespace tritogen {

// Units that hold n.
template <std::integral T>
constexpr T CeilDiv(T n, std::type_identity_t<T> unit) {
  return (n + unit - 1) / unit;
}

// The least multiple of `unit` that holds n.
template <std::integral T>
constexpr T RoundUp(T n, std::type_identity_t<T> unit) {
  return CeilDiv(n, unit) * unit;
}

}  // namespace tritogen
