// The operator catalogue for people: which names --ops and held_out take, and what is known of each.
#pragma once

#include <span>
#include <string>

namespace tritogen {

// One line an operator, in the catalogue's order: name, class, how it is written in PyTorch.
std::string OperatorTable();

// The rows of these names in full. Throws UserError for a name that is none, with the nearest one.
std::string OperatorDetails(std::span<const std::string> names);

}  // namespace tritogen
