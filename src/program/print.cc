#include "program/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "program/catalogue.h"
#include "program/names.h"
#include "program/spelling.h"

namespace tritogen {
namespace {

using NameOf = std::function<std::string(NodeRef)>;

std::string ArgText(const Arg& arg, const NameOf& name) {
  if (const NodeRef* ref = AsRef(arg)) return name(*ref);
  if (const Arg::List* list = AsList(arg)) {
    std::vector<std::string> items;
    for (const Arg& item : *list) items.push_back(ArgText(item, name));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  return PythonLiteral(arg);
}

// x[:, 1:4]: the arguments are those of slice.Tensor.
std::string SubscriptText(const PythonCall& call, const NameOf& name) {
  auto bound = [&](size_t i) {
    return i < call.args.size() && !IsNone(call.args[i]) ? ArgText(call.args[i], name) : std::string();
  };
  std::string text = ArgText(call.args[0], name) + "[";
  for (int64_t i = 0; i < AsInt(call.args[1]).value_or(0); ++i) text += ":, ";
  text += bound(2) + ":" + bound(3);
  if (const std::string step = bound(4); step != "1") text += ":" + step;
  return text + "]";
}

// What follows the shape in "    # up_weight: float32[4, 3], parameter \"up.weight\"". An input that is
// called by its name says no more.
std::string LeafKind(const std::string& name, const Node& node) {
  if (node.kind == NodeKind::kInput && node.name == name) return "";
  return fmt::format(", {} {}", RoleOf(node.kind), PythonLiteral(Arg{node.name}));
}

// Whether the operation returns a list, which one result must be unpacked from too.
bool ReturnsList(const Node& node) {
  const std::string_view name = BaseName(node.op);
  return name == "split" || name == "split_with_sizes" || name == "chunk" || name == "unbind";
}

// Tensors made without another tensor must be told where, also by operators that the catalogue lacks.
bool MakesFromNothing(const Node& node) {
  if (const OpRow* row = FindOp(node.op))
    return row->kind == OpClass::kCreate && row->signatures[0].Find("self") == nullptr;
  bool of_tensors = false;
  ForEachRef(node, [&](NodeRef) { of_tensors = true; });
  return !of_tensors;
}

}  // namespace

const char* RoleOf(NodeKind kind) {
  return kind == NodeKind::kParameter  ? "parameter"
         : kind == NodeKind::kBuffer   ? "buffer"
         : kind == NodeKind::kConstant ? "constant"
                                       : "input";
}

std::string ModelFile(std::string_view text, const std::vector<std::string>& inputs) {
  constexpr std::string_view kHead = "def program(";
  const size_t at = text.find(kHead);
  TRITOGEN_CHECK(at != std::string_view::npos && text.ends_with('\n'));
  std::string out(text.substr(0, at));
  out += "class Model(torch.nn.Module):\n    def forward(self, ";
  for (std::string_view rest = text.substr(at + kHead.size()); !rest.empty();) {
    const size_t end = rest.find('\n') + 1;
    out += rest.substr(0, end);
    rest.remove_prefix(end);
    if (!rest.empty() && rest.front() != '\n') out += "    ";
  }
  out += "\n\ndef get_inputs():\n    return [\n";
  for (const std::string& input : inputs) out += fmt::format("        {},\n", input);
  return out + "    ]\n\n\ndef get_init_inputs():\n    return []\n";
}

std::vector<std::vector<std::string>> PrintedNames(const Program& program) {
  NameTable table{"torch", "program"};
  std::vector<std::vector<std::string>> all;
  for (const Node& node : program.nodes) {
    const std::string wish = node.name.empty() ? std::string(BaseName(node.op)) : node.name;
    // Further results are numbered behind the first one's printed name: what is read has that name, and
    // prints alike.
    std::vector<std::string> names = {table.Unique(wish)};
    while (names.size() < node.results.size()) names.push_back(table.Next(names.back()));
    all.push_back(std::move(names));
  }
  return all;
}

TextParts::TextParts(const Program& program)
    : program_(program), names_(PrintedNames(program)), lines_(program.nodes.size()) {
  std::vector<std::string> params;
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    if (program.nodes[i].kind != NodeKind::kOp) params.push_back(names_[i][0]);
  }
  head_ = fmt::format("import torch\n\n\ndef program({}):\n", fmt::join(params, ", "));
  device_ = params.empty() ? "\"cpu\"" : params[0] + ".device";
  for (size_t i = 0; i < program.nodes.size(); ++i) Update(i);
  const auto name = [this](NodeRef ref) { return names_[ref.id][ref.result]; };
  for (size_t i = 0; i < program.updates.size(); ++i)
    tail_ += fmt::format("    {}.copy_({})\n", names_[program.updates[i]][0],
                         name(program.outputs[program.Leaves() + i]));
  tail_ += fmt::format("    return {}\n", ReturnedText(program, name));
}

void TextParts::Update(size_t i) {
  const Node& node = program_.nodes[i];
  if (node.kind != NodeKind::kOp) {
    lines_[i] = {fmt::format("    # {}: ", names_[i][0]), LeafKind(names_[i][0], node) + "\n"};
    return;
  }
  auto name = [this](NodeRef ref) { return names_[ref.id][ref.result]; };
  lines_[i] = {fmt::format("    {} = {}  # ", TargetsText(node, names_[i]), CallText(node, name, device_)),
               "\n"};
}

std::string TextParts::Text(const std::function<void(size_t, std::string*)>& shapes) const {
  std::string text = head_;
  for (const bool operations : {false, true}) {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if ((program_.nodes[i].kind == NodeKind::kOp) != operations) continue;
      text += lines_[i].before;
      shapes(i, &text);
      text += lines_[i].behind;
    }
  }
  return text += tail_;
}

std::string PrintProgram(const Program& program) {
  return TextParts(program).Text([&](size_t i, std::string* text) {
    const bool operation = program.nodes[i].kind == NodeKind::kOp;
    const std::vector<Shape>& results = program.nodes[i].results;
    for (size_t r = 0; r < (operation ? results.size() : 1); ++r) {
      if (r > 0) *text += ", ";
      *text += ShapeText(results[r]);
    }
  });
}

std::string CallText(const Node& node, const NameOf& name, const std::string& device) {
  const PythonCall call = Spell(node);
  if (call.callee == "[]") return SubscriptText(call, name);
  std::string callee = call.callee;
  std::vector<std::string> parts;
  for (size_t i = 0; i < call.args.size(); ++i) {
    std::string text = ArgText(call.args[i], name);
    if (i == 0 && callee.starts_with('.')) {
      callee = text + callee;
    } else {
      parts.push_back(std::move(text));
    }
  }
  for (const auto& [key, value] : call.kwargs) {
    if (key != "device" && key != "layout" && key != "pin_memory")
      parts.push_back(fmt::format("{}={}", key, ArgText(value, name)));
  }
  if (MakesFromNothing(node)) parts.push_back("device=" + device);
  return fmt::format("{}({})", callee, fmt::join(parts, ", "));
}

std::string TargetsText(const Node& node, const std::vector<std::string>& names) {
  return names.size() == 1 && ReturnsList(node) ? names[0] + "," : fmt::format("{}", fmt::join(names, ", "));
}

std::string ReturnedText(const Program& program, const NameOf& name) {
  std::vector<std::string> leaves;
  for (size_t i = 0; i < program.Leaves(); ++i)
    leaves.push_back(program.outputs[i].id < 0 ? "None" : name(program.outputs[i]));
  const std::string filled = FillStructure(program.structure, leaves);
  return filled.empty() ? fmt::format("({},)", fmt::join(leaves, ", ")) : filled;
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
