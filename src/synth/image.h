// What one constraint says about one variable, given the values that the others can have.
#pragma once

#include <functional>
#include <optional>

#include "synth/system.h"

namespace tritogen::synth {

// A domain of more values than this is not listed when it need not be.
inline constexpr int64_t kListed = 1024;

using DomainOf = std::function<const Domain&(Var)>;

// The values of `var` with which the constraint holds. REQUIRES: all its other variables have one value.
Domain Filter(const Constraint& constraint, Var var, const DomainOf& domain);

// A set that holds every value `var` can have in a solution, when the constraint gives `var` as a function of
// the others and listing their values is cheap; else nothing.
std::optional<Domain> Image(const Constraint& constraint, Var var, const DomainOf& domain);

}  // namespace tritogen::synth
