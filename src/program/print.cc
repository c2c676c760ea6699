#include "program/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "program/catalogue.h"
#include "program/names.h"

namespace tritogen {
namespace {

std::string ArgText(const Arg& arg, const std::function<std::string(NodeRef)>& name) {
  if (const NodeRef* ref = AsRef(arg)) return name(*ref);
  if (const auto* list = std::get_if<Arg::List>(&arg.v)) {
    std::vector<std::string> items;
    for (const Arg& item : *list) items.push_back(ArgText(item, name));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  return PythonLiteral(arg);
}

// "aten::add.Tensor" → "torch.ops.aten.add.Tensor".
std::string QualifiedName(const std::string& op) {
  std::string name(WithoutNamespace(op));
  return "torch.ops.aten." + name + (name.find('.') == std::string::npos ? ".default" : "");
}

// The PyTorch spelling where the row has one. An overload that a spelling may not resolve keeps its full
// name.
std::string CalleeText(const Node& node) {
  const OpRow* row = FindOp(node.op);
  if (row == nullptr || row->torch.empty()) return QualifiedName(node.op);
  return std::string(row->torch);
}

// What the left side of the assignment looks like: "a", "a, b" or "a," for a list of one.
std::string Targets(const std::vector<std::string>& names, bool list) {
  return list && names.size() == 1 ? names[0] + "," : fmt::format("{}", fmt::join(names, ", "));
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string Print() {
    std::vector<std::string> params, comments;
    for (const Node& node : program_.nodes) Name(node);
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      if (node.kind == NodeKind::kOp) continue;
      params.push_back(names_[i][0]);
      comments.push_back(fmt::format("    # {}: {}", names_[i][0], ShapeText(node.results[0])));
    }
    std::string text = fmt::format("import torch\n\n\ndef program({}):\n", fmt::join(params, ", "));
    if (!comments.empty()) text += fmt::format("{}\n", fmt::join(comments, "\n"));
    auto name = [this](NodeRef ref) { return names_[ref.id][ref.result]; };
    std::string device = params.empty() ? "\"cpu\"" : params[0] + ".device";
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      if (node.kind != NodeKind::kOp) continue;
      std::vector<std::string> shapes;
      for (const Shape& shape : node.results) shapes.push_back(ShapeText(shape));
      text += fmt::format("    {} = {}  # {}\n", Targets(names_[i], ReturnsList(node)),
                          CallText(node, name, device), fmt::join(shapes, ", "));
    }
    return text + fmt::format("    return {}\n", ReturnText(name));
  }

 private:
  void Name(const Node& node) {
    std::string wish = node.name;
    if (wish.empty()) wish = BaseName(node.op);
    std::vector<std::string> names;
    for (size_t r = 0; r < std::max<size_t>(1, node.results.size()); ++r)
      names.push_back(table_.Unique(wish));
    names_.push_back(std::move(names));
  }

  std::string ReturnText(const std::function<std::string(NodeRef)>& name) const {
    std::vector<std::string> leaves;
    for (NodeRef ref : program_.outputs) leaves.push_back(ref.id < 0 ? "None" : name(ref));
    std::string filled = FillStructure(program_.structure, leaves);
    return filled.empty() ? fmt::format("({},)", fmt::join(leaves, ", ")) : filled;
  }

  const Program& program_;
  NameTable table_{"torch", "program"};
  std::vector<std::vector<std::string>> names_;  // by node, by result
};

}  // namespace

std::string PrintProgram(const Program& program) {
  return Printer(program).Print();
}

std::string CallText(const Node& node, const std::function<std::string(NodeRef)>& name,
                     const std::string& device) {
  TRITOGEN_CHECK(node.kind == NodeKind::kOp);
  const OpRow* row = FindOp(node.op);
  std::vector<std::string> parts;
  for (const Arg& arg : node.args) parts.push_back(ArgText(arg, name));
  bool creates =
      row != nullptr && row->kind == OpClass::kCreate && row->params.find("self") == std::string_view::npos;
  for (const auto& [key, value] : node.kwargs) {
    if (key == "layout" || key == "pin_memory" || IsNone(value)) continue;
    if (key == "device") {
      creates = true;
    } else if (key == "memory_format") {
      if (const auto* format = std::get_if<std::string>(&value.v))
        parts.push_back("memory_format=torch." + *format);
    } else {
      parts.push_back(fmt::format("{}={}", key, ArgText(value, name)));
    }
  }
  if (creates) parts.push_back("device=" + device);
  return fmt::format("{}({})", CalleeText(node), fmt::join(parts, ", "));
}

bool ReturnsList(const Node& node) {
  std::string_view name = BaseName(node.op);
  return name == "split" || name == "split_with_sizes" || name == "chunk" || name == "unbind";
}

std::string FillStructure(const std::string& structure, const std::vector<std::string>& leaves) {
  std::string text;
  size_t used = 0;
  char quote = 0;
  for (size_t i = 0; i < structure.size(); ++i) {
    char c = structure[i];
    if (quote != 0) {
      if (c == '\\' && i + 1 < structure.size()) {
        text += c;
        c = structure[++i];
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '*') {
      if (used == leaves.size()) return "";
      text += leaves[used++];
      continue;
    }
    text += c;
    if (quote == 0 && (c == ',' || c == ':') && i + 1 < structure.size() && structure[i + 1] != ' ' &&
        structure[i + 1] != ')') {
      text += ' ';
    }
  }
  return used == leaves.size() ? text : "";
}

std::string ShapeText(const Shape& shape) {
  return fmt::format("{}[{}]", DtypeName(shape.dtype), fmt::join(shape.sizes, ", "));
}

}  // namespace tritogen
