// One visitor of a std::variant out of several lambdas.
#pragma once

namespace tritogen {

template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;  // clang before 17 wants it

}  // namespace tritogen
