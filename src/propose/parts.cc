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
#include "text/prompt.h"

namespace tritogen {
namespace {

// What a cut costs, by what hurts most: a view handed on is a tensor that is not contiguous, which programs
// that were trained on do not have; then each launch more between parts; then values to hand on.
constexpr double kViewHandedOn = 100, kPart = 1, kValueMore = 0.3, kUnequal = 0.01;

std::pair<NodeId, int> Key(NodeRef ref) {
  return {ref.id, ref.result};
}

class Cutter {
 public:
  Cutter(const Program& program, const PartLimits& limits)
      : program_(program),
        limits_(limits),
        places_(program.nodes.size(), -1),
        made_(program.nodes.size(), -1) {
    const auto count = static_cast<NodeId>(program.nodes.size());
    for (NodeId id = 0; id < count; ++id) {
      const Node& node = program.nodes[id];
      if (node.kind != NodeKind::kOp) continue;
      if (IsApart(id)) {
        ForEachRef(node, [&](NodeRef ref) { made_[id] = std::max(made_[id], made_[ref.id]); });
      } else {
        places_[id] = made_[id] = static_cast<int>(operations_.size());
        operations_.push_back(id);
      }
    }
    for (const NodeRef ref : program.outputs)
      last_reader_[Key(ref)] = static_cast<int>(operations_.size());  // behind all
    for (NodeId id = count; id-- > 0;) {
      int reader = places_[id];
      for (int result = 0; IsApart(id) && result < static_cast<int>(program.nodes[id].results.size());
           ++result)
        reader = std::max(reader, ReaderOf({id, result}));  // who reads a view reads what it is of
      if (reader < 0) continue;
      ForEachRef(program.nodes[id],
                 [&](NodeRef ref) { last_reader_[Key(ref)] = std::max(ReaderOf(ref), reader); });
    }
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
  bool IsApart(NodeId id) const { return limits_.views_apart && IsView(program_.nodes[id]); }

  int ReaderOf(NodeRef ref) const {
    const auto found = last_reader_.find(Key(ref));
    return found == last_reader_.end() ? -1 : found->second;
  }

  bool Fits(int begin, int end) const {
    // A view of what the part itself makes cannot be had before the part is over.
    for (int place = begin; place < end; ++place) {
      bool too_early = false;
      ForEachRef(program_.nodes[operations_[place]],
                 [&](NodeRef ref) { too_early |= IsApart(ref.id) && made_[ref.id] >= begin; });
      if (too_early) return false;
    }
    const auto computing = std::count_if(operations_.begin() + begin, operations_.begin() + end,
                                         [&](NodeId id) { return !IsView(program_.nodes[id]); });
    return end - begin == 1 || (end - begin <= limits_.operations && computing <= limits_.computing);
  }

  std::vector<NodeRef> WritesOf(int begin, int end) const {
    std::vector<NodeRef> writes;
    for (int place = begin; place < end; ++place) {
      const NodeId id = operations_[place];
      for (int result = 0; result < static_cast<int>(program_.nodes[id].results.size()); ++result) {
        if (ReaderOf({id, result}) >= end) writes.push_back({id, result});
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
        const bool made_here = places_[ref.id] >= begin && places_[ref.id] < end;
        if (made_here || inside.contains(Key(ref))) return;
        inside[Key(ref)] = {static_cast<NodeId>(part.reads.size())};
        part.reads.push_back(ref);
        part.program.nodes.push_back({.kind = NodeKind::kInput,
                                      .name = fmt::format("x{}", part.reads.size() - 1),
                                      .results = {program_.nodes[ref.id].results[ref.result]}});
      });
    }
    for (int place = begin; place < end; ++place) {
      Node node = program_.nodes[operations_[place]];
      node.name.clear();  // called by what it is and numbered from the part's start, as short programs are
      ForEachRef(node, [&](NodeRef& ref) { ref = inside.at(Key(ref)); });
      const auto id = static_cast<NodeId>(part.program.nodes.size());
      for (int result = 0; result < static_cast<int>(node.results.size()); ++result)
        inside[{operations_[place], result}] = {id, result};
      part.program.nodes.push_back(std::move(node));
    }
    for (NodeId leaf = 0; leaf < static_cast<NodeId>(part.reads.size()); ++leaf) {
      if (IsSpread(part.program, leaf)) part.program.nodes[leaf].results[0].sizes = {1};
    }
    for (const NodeRef ref : part.writes) part.program.outputs.push_back(inside.at(Key(ref)));
    const std::vector<std::string> leaves(part.writes.size(), "*");
    part.program.structure = leaves.size() == 1 ? "*" : fmt::format("({})", fmt::join(leaves, ","));
    return part;
  }

  // Whether a leaf without dimensions is spread over another tensor's elements wherever it is read. One of
  // one element, which models know better, does the same there.
  static bool IsSpread(const Program& part, NodeId leaf) {
    if (!part.nodes[leaf].results[0].sizes.empty()) return false;
    return std::ranges::all_of(part.nodes, [&](const Node& node) {
      bool reads = false;
      ForEachRef(node, [&](NodeRef ref) { reads |= ref.id == leaf; });
      if (!reads) return true;
      const OpRow* row = FindOp(node.op);
      const Shape& result = node.results[0];
      return row != nullptr && row->kind == OpClass::kPointwise && !result.sizes.empty() &&
             result.dtype == part.nodes[leaf].results[0].dtype;  // else promotion might tell them apart
    });
  }

  const Program& program_;
  const PartLimits limits_;
  std::vector<NodeId> operations_;  // that go into parts
  // By node: its place among these, −1 for others; the last place of what it is or is a view of.
  std::vector<int> places_, made_;
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
    if (name == "ModelNew") {
      names[name] = fmt::format("Part{}", number);
      continue;
    }
    std::string free = name;
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

// forward of the whole: a line for each part, and for each view that no part computes.
class ForwardText {
 public:
  explicit ForwardText(const Program& program) : program_(program), names_(PrintedNames(program)) {
    std::vector<std::string> leaves = {"self"};
    for (NodeId id = 0; id < static_cast<NodeId>(program.nodes.size()); ++id) {
      if (program.nodes[id].kind == NodeKind::kOp) continue;
      leaves.push_back(names_[id][0]);
      there_.insert({id, 0});
    }
    text_ = fmt::format("    def forward({}):\n", fmt::join(leaves, ", "));
  }

  void Call(const ProgramPart& part, size_t number) {
    std::vector<std::string> arguments, results;
    for (size_t i = 0; i < part.reads.size(); ++i) {
      const NodeRef ref = part.reads[i];
      Need(ref);
      const Node& made = program_.nodes[ref.id];
      const bool gets_dimension =
          part.program.nodes[i].results[0].sizes.size() > made.results[ref.result].sizes.size();
      arguments.push_back(Name(ref) + (IsView(made) ? ".contiguous()" : "") +
                          (gets_dimension ? ".reshape(1)" : ""));
    }
    for (const NodeRef ref : part.writes) {
      results.push_back(Name(ref));
      there_.insert(Key(ref));
    }
    text_ += fmt::format("        {} = part{}({})\n", fmt::join(results, ", "), number,
                         fmt::join(arguments, ", "));
  }

  std::string Return() {
    for (const NodeRef ref : program_.outputs) {
      if (ref.id >= 0) Need(ref);
    }
    return text_ +
           fmt::format("        return {}\n", ReturnedText(program_, [&](NodeRef ref) { return Name(ref); }));
  }

 private:
  std::string Name(NodeRef ref) const { return names_[ref.id][ref.result]; }

  // What is not there yet is a view.
  void Need(NodeRef ref) {
    if (there_.contains(Key(ref))) return;
    const Node& node = program_.nodes[ref.id];
    TRITOGEN_CHECK(IsView(node));
    ForEachRef(node, [&](NodeRef of) { Need(of); });
    const auto name = [&](NodeRef of) { return Name(of); };
    text_ += fmt::format("        {} = {}\n", TargetsText(node, names_[ref.id]),
                         CallText(node, name, "x0.device"));
    for (int result = 0; result < static_cast<int>(node.results.size()); ++result)
      there_.insert({ref.id, result});
  }

  const Program& program_;
  const std::vector<std::vector<std::string>> names_;
  std::set<std::pair<NodeId, int>> there_;
  std::string text_;
};

}  // namespace

bool IsView(const Node& node) {
  const OpRow* row = node.kind == NodeKind::kOp ? FindOp(node.op) : nullptr;
  return row != nullptr && row->flops.count == FlopCount::kNothing;
}

std::vector<ProgramPart> CutIntoParts(const Program& program, const PartLimits& limits) {
  TRITOGEN_CHECK(limits.operations >= 1 && limits.computing >= 1);
  return Cutter(program, limits).Cut();
}

std::string FileOfParts(const Program& program, const std::vector<ProgramPart>& parts,
                        const std::vector<std::string>& codes) {
  TRITOGEN_CHECK(parts.size() == codes.size());
  std::set<std::string, std::less<>> imports = {"import torch\n"}, taken = {"ModelNew"};
  for (size_t i = 1; i <= parts.size(); ++i)
    taken.merge(std::set<std::string, std::less<>>{fmt::format("part{}", i), fmt::format("Part{}", i)});
  std::string body;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    Renamed renamed = Rename(codes[i], number, &taken);
    imports.merge(renamed.imports);
    body += fmt::format("\n\n{}\n\n\npart{} = Part{}()\n", renamed.code, number, number);
  }
  const Program plain = WithPlainLeaves(program);
  ForwardText forward(plain);
  for (size_t i = 0; i < parts.size(); ++i) forward.Call(parts[i], i + 1);
  return fmt::format("{}{}\n\nclass ModelNew(torch.nn.Module):\n{}", fmt::join(imports, ""), body,
                     forward.Return());
}

}  // namespace tritogen
