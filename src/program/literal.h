// Literals of arguments: Python text to Arg and back, and typed reading of an Arg.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace tritogen {

// None, True, 3, 0.5, 1., inf, 'tanh', "tanh", float("inf"), torch.float32, [1, [2]], (1, 2). Nothing for
// anything else, or for lists nested deeper than four.
std::optional<Arg> ReadLiteral(std::string_view text);
// The same for text of our own. REQUIRES: a literal.
Arg ParseLiteral(std::string_view text);
// A literal as Python writes it: 2.0, float("inf"), None, [1, 2]. REQUIRES: no NodeRef inside.
std::string PythonLiteral(const Arg& arg);
// The expression that makes a flat tensor of these bytes, for what has too many elements for literals, or
// none.
std::string PythonTensor(std::span<const uint8_t> bytes, Dtype dtype);

// Nothing when the argument is not of that kind (bools are not integers).
std::optional<double> AsNumber(const Arg& arg);
std::optional<int64_t> AsInt(const Arg& arg);
bool AsBool(const Arg& arg, bool otherwise);
bool IsNone(const Arg& arg);
const NodeRef* AsRef(const Arg& arg);
const Arg::List* AsList(const Arg& arg);
// A list of integers; one integer counts as a list of one. Nothing for anything else.
std::optional<std::vector<int64_t>> AsInts(const Arg& arg);
Arg IntsArg(const std::vector<int64_t>& values);

// f(ref) for every node that the argument names, in order.
template <typename A, typename F>
void ForEachRef(A& arg, const F& f) {
  if (auto* ref = std::get_if<NodeRef>(&arg.v)) f(*ref);
  if (auto* list = std::get_if<Arg::List>(&arg.v)) {
    for (auto& item : *list) ForEachRef(item, f);
  }
}
template <typename F>
void ForEachRef(Node& node, const F& f) {
  for (Arg& arg : node.args) ForEachRef(arg, f);
  for (auto& [name, arg] : node.kwargs) ForEachRef(arg, f);
}
template <typename F>
void ForEachRef(const Node& node, const F& f) {
  for (const Arg& arg : node.args) ForEachRef(arg, f);
  for (const auto& [name, arg] : node.kwargs) ForEachRef(arg, f);
}

}  // namespace tritogen
