#include "propose/parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "base/python_tokens.h"
#include "program/catalogue.h"
#include "program/literal.h"
#include "program/print.h"

namespace tritogen {
namespace {

// What a cut costs, by what hurts most: a view handed on is a tensor that is not contiguous, which programs
// that were trained on do not have; then each launch more between parts; then values to hand on.
constexpr double kViewHandedOn = 100, kPart = 1, kValueMore = 0.3, kUnequal = 0.01;

bool IsView(const Node& node) {
  const OpRow* row = FindOp(node.op);
  return row != nullptr && row->flops.count == FlopCount::kNothing;
}

std::pair<NodeId, int> Key(NodeRef ref) {
  return {ref.id, ref.result};
}

class Cutter {
 public:
  Cutter(const Program& program, const PartLimits& limits) : program_(program), limits_(limits) {
    for (NodeId id = 0; id < static_cast<NodeId>(program.nodes.size()); ++id) {
      const Node& node = program.nodes[id];
      if (node.kind != NodeKind::kOp) continue;
      const auto place = static_cast<int>(operations_.size());
      operations_.push_back(id);
      ForEachRef(node, [&](NodeRef ref) { last_reader_[Key(ref)] = place; });
    }
    for (const NodeRef ref : program.outputs)
      last_reader_[Key(ref)] = static_cast<int>(operations_.size());  // behind all
  }

  // Shortest way over the places between operations.
  std::vector<ProgramPart> Cut() const {
    const auto count = static_cast<int>(operations_.size());
    std::vector<double> cost(count + 1, std::numeric_limits<double>::infinity());
    std::vector<int> from(count + 1, 0);
    cost[0] = 0;
    for (int begin = 0; begin < count; ++begin) {
      for (int end = begin + 1; end <= count && Fits(begin, end); ++end) {
        const double way = cost[begin] + CostOf(begin, end);
        if (way < cost[end]) cost[end] = way, from[end] = begin;
      }
    }
    std::vector<ProgramPart> parts;
    for (int end = count; end > 0; end = from[end]) {
      ProgramPart part = PartOf(from[end], end);
      if (!part.writes.empty()) parts.push_back(std::move(part));
    }
    std::ranges::reverse(parts);
    return parts;
  }

 private:
  bool Fits(int begin, int end) const {
    const auto computing = std::count_if(operations_.begin() + begin, operations_.begin() + end,
                                         [&](NodeId id) { return !IsView(program_.nodes[id]); });
    return end - begin == 1 || (end - begin <= limits_.operations && computing <= limits_.computing);
  }

  std::vector<NodeRef> WritesOf(int begin, int end) const {
    std::vector<NodeRef> writes;
    for (int place = begin; place < end; ++place) {
      const NodeId id = operations_[place];
      for (int result = 0; result < static_cast<int>(program_.nodes[id].results.size()); ++result) {
        const auto reader = last_reader_.find({id, result});
        if (reader != last_reader_.end() && reader->second >= end) writes.push_back({id, result});
      }
    }
    return writes;
  }

  double CostOf(int begin, int end) const {
    const std::vector<NodeRef> writes = WritesOf(begin, end);
    double cost = kPart + kUnequal * (end - begin) * (end - begin);
    for (size_t i = 0; i < writes.size(); ++i) {
      if (i > 0) cost += kValueMore;
      const bool returned = last_reader_.at(Key(writes[i])) == static_cast<int>(operations_.size());
      if (IsView(program_.nodes[writes[i].id]) && !returned) cost += kViewHandedOn;
    }
    return cost;
  }

  ProgramPart PartOf(int begin, int end) const {
    ProgramPart part{.writes = WritesOf(begin, end)};
    std::map<std::pair<NodeId, int>, NodeRef> inside;
    for (int place = begin; place < end; ++place) {
      ForEachRef(program_.nodes[operations_[place]], [&](NodeRef ref) {
        const bool before = program_.nodes[ref.id].kind != NodeKind::kOp || ref.id < operations_[begin];
        if (!before || inside.contains(Key(ref))) return;
        inside[Key(ref)] = {static_cast<NodeId>(part.reads.size())};
        part.reads.push_back(ref);
        part.program.nodes.push_back({.kind = NodeKind::kInput,
                                      .name = fmt::format("x{}", part.reads.size() - 1),
                                      .results = {program_.nodes[ref.id].results[ref.result]}});
      });
    }
    for (int place = begin; place < end; ++place) {
      Node node = program_.nodes[operations_[place]];
      ForEachRef(node, [&](NodeRef& ref) { ref = inside.at(Key(ref)); });
      const auto id = static_cast<NodeId>(part.program.nodes.size());
      for (int result = 0; result < static_cast<int>(node.results.size()); ++result)
        inside[{operations_[place], result}] = {id, result};
      part.program.nodes.push_back(std::move(node));
    }
    for (const NodeRef ref : part.writes) part.program.outputs.push_back(inside.at(Key(ref)));
    const std::vector<std::string> leaves(part.writes.size(), "*");
    part.program.structure = leaves.size() == 1 ? "*" : fmt::format("({})", fmt::join(leaves, ","));
    return part;
  }

  const Program& program_;
  const PartLimits limits_;
  std::vector<NodeId> operations_;
  // Of each value that is read: the place among operations of who reads it last; their number for outputs.
  std::map<std::pair<NodeId, int>, int> last_reader_;
};

// A file of an answer without its imports, its top-level names told apart from those that are taken.
struct Renamed {
  std::set<std::string, std::less<>> imports;
  std::string code;
};

// What the lines of a file that begin at its margin define: functions, classes, variables.
std::set<std::string, std::less<>> TopLevelNames(const std::vector<PythonToken>& tokens) {
  std::set<std::string, std::less<>> names;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool margin = i == 0 || tokens[i - 1].text == "\n";
    if (!margin || tokens[i].kind != PythonToken::Kind::kName) continue;
    size_t next = i + 1;
    while (next < tokens.size() && tokens[next].text == " ") ++next;
    if (next == tokens.size()) break;
    if (tokens[i].text == "def" || tokens[i].text == "class") names.emplace(tokens[next].text);
    if (tokens[next].text == "=") names.emplace(tokens[i].text);
  }
  return names;
}

Renamed Rename(const std::string& code, int number, std::set<std::string, std::less<>>* taken) {
  const std::vector<PythonToken> tokens = PythonTokens(code);
  std::map<std::string, std::string, std::less<>> names;
  for (const std::string& name : TopLevelNames(tokens)) {
    std::string free = name == "ModelNew" ? fmt::format("Part{}", number) : name;
    for (int more = number; taken->contains(free); ++more) free = fmt::format("{}_{}", name, more);
    taken->insert(free);
    names[name] = free;
  }
  std::string text;
  std::string_view before;
  for (const PythonToken& token : tokens) {
    const auto found = names.find(token.text);
    const bool is_name = token.kind == PythonToken::Kind::kName && before != ".";
    text += is_name && found != names.end() ? found->second : std::string(token.text);
    if (token.text != " ") before = token.text;
  }
  Renamed renamed;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    const bool is_import = line.starts_with("import ") || line.starts_with("from ");
    if (is_import) {
      renamed.imports.insert(line);
    } else if (!renamed.code.empty() || line != "\n") {
      renamed.code += line;
    }
    begin = end;
  }
  while (renamed.code.ends_with('\n')) renamed.code.pop_back();
  return renamed;
}

// forward of the whole: one line a part.
std::string Forward(const Program& program, const std::vector<ProgramPart>& parts) {
  const auto names = PrintedNames(program);
  const auto name_of = [&](NodeRef ref) { return names[ref.id][ref.result]; };
  std::vector<std::string> leaves = {"self"}, returned;
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    if (program.nodes[i].kind != NodeKind::kOp) leaves.push_back(names[i][0]);
  }
  std::string text = fmt::format("    def forward({}):\n", fmt::join(leaves, ", "));
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<std::string> arguments, results;
    for (const NodeRef ref : parts[i].reads) {
      const bool is_view = program.nodes[ref.id].kind == NodeKind::kOp && IsView(program.nodes[ref.id]);
      arguments.push_back(name_of(ref) + (is_view ? ".contiguous()" : ""));
    }
    for (const NodeRef ref : parts[i].writes) results.push_back(name_of(ref));
    text +=
        fmt::format("        {} = part{}({})\n", fmt::join(results, ", "), i + 1, fmt::join(arguments, ", "));
  }
  for (const NodeRef ref : program.outputs) returned.push_back(ref.id < 0 ? "None" : name_of(ref));
  const std::string filled = FillStructure(program.structure, returned);
  return text + fmt::format("        return {}\n",
                            filled.empty() ? fmt::format("({},)", fmt::join(returned, ", ")) : filled);
}

// The program as a policy reads it: leaves are x0, x1, …
Program WithPlainLeaves(Program program) {
  int number = 0;
  for (Node& node : program.nodes) {
    if (node.kind != NodeKind::kOp) node.name = fmt::format("x{}", number++);
  }
  return program;
}

}  // namespace

std::vector<ProgramPart> CutIntoParts(const Program& program, const PartLimits& limits) {
  TRITOGEN_CHECK(limits.operations >= 1 && limits.computing >= 1);
  return Cutter(program, limits).Cut();
}

std::string FileOfParts(const Program& program, const std::vector<ProgramPart>& parts,
                        const std::vector<std::string>& codes) {
  TRITOGEN_CHECK(parts.size() == codes.size());
  std::set<std::string, std::less<>> imports = {"import torch\n"}, taken = {"ModelNew"};
  for (size_t i = 1; i <= parts.size(); ++i) taken.insert(fmt::format("part{}", i));
  std::string body;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    Renamed renamed = Rename(codes[i], number, &taken);
    imports.merge(renamed.imports);
    body += fmt::format("\n\n{}\n\n\npart{} = Part{}()\n", renamed.code, number, number);
  }
  return fmt::format("{}{}\n\nclass ModelNew(torch.nn.Module):\n{}", fmt::join(imports, ""), body,
                     Forward(WithPlainLeaves(program), parts));
}

}  // namespace tritogen
