// Programs for the tests of this folder, and what the teacher makes of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "teach/lower.h"
#include "teach/partition.h"
#include "teach/teacher.h"

namespace tritogen::teach {

inline Arg Ref(NodeId id) {
  return Arg{NodeRef{id}};
}

// A Program, node by node.
class Maker {
 public:
  NodeId Leaf(NodeKind kind, std::string name, std::vector<int64_t> sizes, Dtype dtype = Dtype::kFloat32) {
    Node node;
    node.kind = kind;
    node.name = std::move(name);
    node.results = {{dtype, std::move(sizes)}};
    return Push(std::move(node));
  }
  NodeId Op(std::string op, std::vector<Arg> args, std::vector<int64_t> sizes,
            Dtype dtype = Dtype::kFloat32) {
    Node node;
    node.op = std::move(op);
    node.args = std::move(args);
    node.results = {{dtype, std::move(sizes)}};
    return Push(std::move(node));
  }
  Program Finish(NodeId output) {
    program_.outputs = {{output}};
    program_.structure = "*";
    return program_;
  }

 private:
  NodeId Push(Node node) {
    program_.nodes.push_back(std::move(node));
    return static_cast<NodeId>(program_.nodes.size()) - 1;
  }
  Program program_;
};

inline std::vector<Group> Groups(const Program& program, const LowerOptions& options = {}) {
  return Partition(InlineViews(*Lower(program, options)));
}

inline std::vector<Answer> TeachFunction(const Program& program, bool strict = false) {
  Request request;
  request.program = &program;
  request.entry = "f";
  request.is_function = true;
  request.strict = strict;
  request.count = 16;
  return Teach(request);
}

}  // namespace tritogen::teach
