// A program that is being rewritten: nodes are added behind the others, results change places, and the end
// is a program in order again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "program/catalogue.h"
#include "program/program.h"

namespace tritogen::teach {

// Results as an argument that is a list.
Arg ListArg(const std::vector<NodeRef>& refs);

class ProgramEdit {
 public:
  explicit ProgramEdit(const Program& program);

  const Program& program() const { return program_; }
  const Node& operator[](NodeId id) const { return program_.nodes[id]; }
  const Shape& ShapeOf(NodeRef ref) const { return program_.nodes[ref.id].results[ref.result]; }
  // The call of an operation; null where the catalogue does not know it, and for leaves.
  const OpCall* CallOf(NodeId id) const;
  // The same of an operator by the row's name.
  const OpCall* CallOf(NodeId id, std::string_view row) const;

  // An operation with one result of this shape, or with several.
  NodeRef Add(std::string op, std::vector<Arg> args, Shape result);
  NodeId Add(Node node);
  // Element `index` of a tensor along a dimension; the same node each time.
  NodeRef Selected(NodeRef of, int64_t dim, int64_t index);
  // Whoever reads a result reads another one instead.
  using Places = std::vector<std::pair<NodeRef, NodeRef>>;
  void Replace(const Places& places);

  // By node: whether an output needs it.
  std::vector<bool> Needed() const;
  // The program in order, leaves first, without operations that outputs needed before but not now.
  // `renumbered`: what its leaves have become.
  Program Finish(std::map<NodeId, NodeId>* renumbered) const;

 private:
  Program program_;
  std::vector<bool> needed_before_;  // of the nodes that it began with
  std::map<std::tuple<NodeId, int, int64_t, int64_t>, NodeRef> selected_;
  mutable std::map<NodeId, std::optional<OpCall>> calls_ = {};  // of nodes as they are
};

}  // namespace tritogen::teach
