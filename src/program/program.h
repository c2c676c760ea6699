// Program: the canonical form of what a PyTorch file computes, a DAG of typed, shaped ATen-level operations
// in topological order. Built from a reference Plan (plan/lift.h), printed as a flat functional PyTorch
// function.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace tritogen {

using NodeId = int32_t;

struct Shape {
  Dtype dtype = Dtype::kFloat32;
  std::vector<int64_t> sizes;
  bool operator==(const Shape&) const = default;
  int64_t numel() const;
};

struct NodeRef {
  NodeId id;
  int result = 0;
  bool operator==(const NodeRef&) const = default;
};

// An argument of an operation: another node's result or a literal. Lists nest.
struct Arg {
  using List = std::vector<Arg>;
  std::variant<std::monostate, bool, int64_t, double, std::string, NodeRef, Dtype, List> v;
  bool operator==(const Arg&) const = default;
};

enum class NodeKind { kInput, kParameter, kBuffer, kConstant, kOp };

struct Node {
  NodeKind kind = NodeKind::kOp;
  std::string name;  // input or state-dict name; for operations a suggestion for printing
  std::string op;    // "aten::linear" …: ATen name, overload included where it matters ("aten::add.Tensor")
  std::vector<Arg> args;
  std::vector<std::pair<std::string, Arg>> kwargs;
  std::vector<Shape> results;  // one for most operations
};

struct Program {
  std::vector<Node> nodes;       // topological; inputs first, in call order, then parameters and buffers
  std::vector<NodeRef> outputs;  // leaves, in order; behind them the new values of `updates`
  std::string structure;         // of the leaves, as in Plan
  std::vector<NodeId> updates;   // leaves into whose memory the call writes

  size_t Leaves() const { return outputs.size() - updates.size(); }
};

}  // namespace tritogen
