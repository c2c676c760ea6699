// One visitor of a std::variant out of several lambdas.
#pragma once

namespace tritogen {

template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};

}  // namespace tritogen
