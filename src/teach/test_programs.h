// Programs for the tests of this folder, and what the teacher makes of them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "teach/lower.h"
#include "teach/partition.h"
#include "teach/teacher.h"

namespace tritogen::teach {

inline Arg Ref(NodeId id) {
  return Arg{NodeRef{id}};
}

inline Arg Ints(const std::vector<int64_t>& all) {
  Arg::List list;
  for (int64_t one : all) list.push_back(Arg{one});
  return Arg{std::move(list)};
}

inline int CountOf(const std::string& source, std::string_view text) {
  int count = 0;
  for (size_t at = 0; (at = source.find(text, at)) != std::string::npos; ++at) ++count;
  return count;
}

inline bool Says(const std::string& source, std::string_view text) {
  return source.find(text) != std::string::npos;
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
