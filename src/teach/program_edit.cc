#include "teach/program_edit.h"

#include <algorithm>

namespace tritogen::teach {
namespace {

struct RefOrder {
  bool operator()(const NodeRef& a, const NodeRef& b) const {
    return std::pair(a.id, a.result) < std::pair(b.id, b.result);
  }
};

std::vector<bool> NeededOf(const Program& program) {
  std::vector<bool> needed(program.nodes.size(), false);
  std::vector<NodeId> pending;
  for (NodeRef ref : program.outputs) {
    if (ref.id >= 0) pending.push_back(ref.id);
  }
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (needed[id]) continue;
    needed[id] = true;
    ForEachRef(program.nodes[id], [&](NodeRef ref) { pending.push_back(ref.id); });
  }
  return needed;
}

}  // namespace

Arg ListArg(const std::vector<NodeRef>& refs) {
  Arg::List list;
  for (NodeRef ref : refs) list.push_back(Arg{ref});
  return Arg{std::move(list)};
}

ProgramEdit::ProgramEdit(const Program& program) : program_(program), needed_before_(NeededOf(program)) {}

const OpCall* ProgramEdit::CallOf(NodeId id) const {
  const Node& node = program_.nodes[id];
  if (node.kind != NodeKind::kOp) return nullptr;
  auto at = calls_.find(id);
  if (at == calls_.end()) at = calls_.emplace(id, BindCall(node)).first;
  return at->second ? &*at->second : nullptr;
}

const OpCall* ProgramEdit::CallOf(NodeId id, std::string_view row) const {
  const OpCall* call = CallOf(id);
  return call != nullptr && call->row->name == row ? call : nullptr;
}

NodeId ProgramEdit::Add(Node node) {
  program_.nodes.push_back(std::move(node));
  return static_cast<NodeId>(program_.nodes.size()) - 1;
}

NodeRef ProgramEdit::Add(std::string op, std::vector<Arg> args, Shape result) {
  Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  node.results = {std::move(result)};
  return {Add(std::move(node)), 0};
}

NodeRef ProgramEdit::Selected(NodeRef of, int64_t dim, int64_t index) {
  const std::tuple key(of.id, of.result, dim, index);
  if (const auto at = selected_.find(key); at != selected_.end()) return at->second;
  Shape shape = ShapeOf(of);
  shape.sizes.erase(shape.sizes.begin() + dim);
  return selected_[key] = Add("aten::select.int", {Arg{of}, Arg{dim}, Arg{index}}, shape);
}

void ProgramEdit::Replace(const Places& places) {
  const std::map<NodeRef, NodeRef, RefOrder> now(places.begin(), places.end());
  auto replace = [&](NodeRef& ref) {
    if (const auto at = now.find(ref); at != now.end()) ref = at->second;
  };
  for (Node& node : program_.nodes) ForEachRef(node, replace);
  for (NodeRef& ref : program_.outputs) replace(ref);
  calls_.clear();
}

std::vector<bool> ProgramEdit::Needed() const {
  return NeededOf(program_);
}

Program ProgramEdit::Finish(std::map<NodeId, NodeId>* renumbered) const {
  const std::vector<bool> needed = Needed();
  std::map<NodeId, NodeId>& places = *renumbered;
  const auto before = static_cast<NodeId>(needed_before_.size());
  Program done{{}, program_.outputs, program_.structure, program_.updates};
  auto visit = [&](auto& self, NodeId id) -> void {
    if (places.count(id) > 0) return;
    ForEachRef(program_.nodes[id], [&](NodeRef ref) { self(self, ref.id); });
    places[id] = static_cast<NodeId>(done.nodes.size());
    Node node = program_.nodes[id];
    ForEachRef(node, [&](NodeRef& ref) { ref.id = places.at(ref.id); });
    done.nodes.push_back(std::move(node));
  };
  for (NodeId id = 0; id < before; ++id) {
    if (program_.nodes[id].kind != NodeKind::kOp) visit(visit, id);
  }
  for (NodeId id = 0; id < before; ++id) {
    if (needed[id] || !needed_before_[id]) visit(visit, id);
  }
  for (NodeRef ref : program_.outputs) {
    if (ref.id >= 0) visit(visit, ref.id);
  }
  for (NodeRef& ref : done.outputs) {
    if (ref.id >= 0) ref.id = places.at(ref.id);
  }
  for (NodeId& update : done.updates) update = places.at(update);
  return done;
}

}  // namespace tritogen::teach
