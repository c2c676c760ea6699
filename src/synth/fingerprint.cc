#include "synth/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/sha256.h"
#include "base/splitmix.h"
#include "program/catalogue.h"
#include "program/literal.h"
#include "program/print.h"

namespace tritogen::synth {
namespace {

uint64_t Combine(uint64_t a, uint64_t b) {
  return SplitMix::Mix(a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u);
}

bool Commutative(const Node& node) {
  static const std::set<std::string_view> kNames{"add",         "mul",         "maximum",    "minimum",
                                                 "eq",          "ne",          "logical_or", "logical_xor",
                                                 "logical_and", "bitwise_and", "bitwise_or", "bitwise_xor"};
  const std::string_view name = WithoutNamespace(node.op);
  if (name == "max.other" || name == "min.other") return true;
  return kNames.contains(BaseName(node.op)) && node.args.size() == 2 && node.kwargs.empty();
}

// The search for the least text of a labelled graph: colours are refined until they are stable (Weisfeiler
// and Leman); where nodes stay alike, each of them is told apart in turn.
class Canon {
 public:
  Canon(const Wiring& wiring, std::span<const Label> labels) : wiring_(wiring), labels_(labels) {}

  std::string Text() {
    std::vector<uint64_t> colours;
    colours.reserve(labels_.size());
    for (const Label& label : labels_) colours.push_back(SplitMix::Mix(label.hash));
    for (auto [node, result] : wiring_.outputs) colours[node] += Combine(0x6f7574, result);  // in any order
    next_.resize(labels_.size());
    place_.resize(labels_.size());
    Search(std::move(colours));
    return std::move(best_);
  }

 private:
  using Edge = Wiring::Edge;
  struct Cell {
    uint64_t colour;
    int node;
    auto operator<=>(const Cell&) const = default;
  };

  static bool Same(std::vector<Edge> a, std::vector<Edge> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  }

  size_t Kinds(const std::vector<uint64_t>& colours) {
    sorted_ = colours;
    std::sort(sorted_.begin(), sorted_.end());
    return std::unique(sorted_.begin(), sorted_.end()) - sorted_.begin();
  }

  void Refine(std::vector<uint64_t>* colours) {
    size_t kinds = Kinds(*colours);
    while (kinds < colours->size()) {
      for (size_t i = 0; i < next_.size(); ++i) {
        uint64_t below = 0, above = 0;  // sums: the order of what comes together does not matter
        for (const Edge& e : wiring_.operands[i])
          below += Combine(Combine((*colours)[e.node], e.result), e.place);
        for (const Edge& e : wiring_.uses[i])
          above += Combine(Combine((*colours)[e.node], e.result), e.place);
        next_[i] = Combine(Combine((*colours)[i], below), above);
      }
      const size_t more = Kinds(next_);
      if (more == kinds) return;
      kinds = more;
      std::swap(*colours, next_);
    }
  }

  void Search(std::vector<uint64_t> colours) {
    Refine(&colours);
    std::vector<Cell> cells;  // nodes by colour
    cells.reserve(colours.size());
    for (size_t i = 0; i < colours.size(); ++i) cells.push_back({colours[i], static_cast<int>(i)});
    std::sort(cells.begin(), cells.end());
    for (size_t i = 0; i + 1 < cells.size(); ++i) {
      if (cells[i].colour == cells[i + 1].colour) return TellApart(cells, i, colours);
    }
    ++labelings_;
    Write(cells);
    if (best_.empty() || text_ < best_) std::swap(best_, text_);
  }

  // Those that have the colour of cell `first`, each in turn.
  void TellApart(const std::vector<Cell>& cells, size_t first, const std::vector<uint64_t>& colours) {
    const auto& edges = wiring_.operands;
    const auto& uses = wiring_.uses;
    const int leader = cells[first].node;
    for (size_t i = first; i < cells.size() && cells[i].colour == cells[first].colour; ++i) {
      const int node = cells[i].node;
      // Twins, used alike by the same nodes, can be exchanged: one of them is enough.
      if (node != leader && Same(edges[node], edges[leader]) && Same(uses[node], uses[leader])) continue;
      if (labelings_ >= kMostLabelings && !best_.empty()) return;
      std::vector<uint64_t> apart = colours;
      apart[node] = Combine(cells[first].colour, 0x6170617274);
      Search(std::move(apart));
    }
  }

  void Append(std::string_view before, int number) {
    char digits[12];
    text_ += before;
    text_.append(digits, std::to_chars(digits, std::end(digits), number).ptr);
  }

  // One line a node, in the order of their colours, which are all different.
  void Write(const std::vector<Cell>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) place_[cells[i].node] = static_cast<int>(i);
    text_.clear();
    for (const Cell& cell : cells) {
      operands_.clear();
      for (const Edge& e : wiring_.operands[cell.node])
        operands_.push_back({e.place, place_[e.node], e.result});
      if (operands_.size() > 1) std::sort(operands_.begin(), operands_.end());
      text_ += labels_[cell.node].text;
      for (const auto& o : operands_) Append(" ", o[0]), Append(":", o[1]), Append(".", o[2]);
      text_ += '\n';
    }
    std::vector<std::pair<int, int>> outputs;
    outputs.reserve(wiring_.outputs.size());
    for (auto [node, result] : wiring_.outputs) outputs.emplace_back(place_[node], result);
    std::sort(outputs.begin(), outputs.end());
    for (auto [node, result] : outputs) Append("return ", node), Append(".", result), text_ += '\n';
  }

  const Wiring& wiring_;
  std::span<const Label> labels_;
  int labelings_ = 0;
  std::string best_;
  // Kept for their memory.
  std::string text_;
  std::vector<uint64_t> next_, sorted_;
  std::vector<int> place_;
  std::vector<std::array<int, 3>> operands_;
};

bool IsFingerprint(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Label LabelOf(const Node& node, Detail detail) {
  Label label;
  label.Append(node.kind != NodeKind::kOp ? "input"
               : detail == Detail::kSizes ? WithoutNamespace(node.op)
                                          : BaseName(node.op));
  std::function<void(const Arg&)> add = [&](const Arg& arg) {
    if (AsRef(arg) != nullptr) {
      label.Append(" @");
    } else if (const Arg::List* list = AsList(arg)) {
      label.Append(" [");
      for (const Arg& item : *list) add(item);
      label.Append("]");
    } else if (detail == Detail::kSizes) {
      label.Append(" ");
      label.Append(PythonLiteral(arg));
    }
  };
  for (const Arg& arg : node.args) add(arg);
  for (const auto& [name, arg] : node.kwargs) {
    label.Append(" ");
    label.Append(name);
    label.Append("=");
    add(arg);
  }
  return label;
}

Wiring::Wiring(const Program& program) {
  std::vector<int> number(program.nodes.size(), -1);
  std::vector<bool> live(program.nodes.size());
  for (NodeRef ref : program.outputs) {
    if (ref.id >= 0) live[ref.id] = true;
  }
  for (size_t i = program.nodes.size(); i-- > 0;) {
    if (live[i]) ForEachRef(program.nodes[i], [&](NodeRef ref) { live[ref.id] = true; });
  }
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    if (!live[i]) continue;
    number[i] = static_cast<int>(nodes.size());
    nodes.push_back(static_cast<int>(i));
    operands.emplace_back();
    const bool commutes = Commutative(program.nodes[i]);
    int place = 0;
    ForEachRef(program.nodes[i], [&](NodeRef ref) {
      operands.back().push_back({number[ref.id], ref.result, commutes ? 0 : place++});
    });
  }
  uses.resize(nodes.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    for (const Edge& edge : operands[i])
      uses[edge.node].push_back({static_cast<int>(i), edge.result, edge.place});
  }
  for (NodeRef ref : program.outputs) {
    if (ref.id >= 0) outputs.emplace_back(number[ref.id], ref.result);
  }
}

std::string FingerprintOf(const Wiring& wiring, std::span<const Label> labels) {
  return Sha256Hex(Canon(wiring, labels).Text()).substr(0, 32);
}

std::string Fingerprint(const Program& program, Detail detail) {
  const Wiring wiring(program);
  std::vector<Label> labels;
  for (int i : wiring.nodes) {
    labels.push_back(LabelOf(program.nodes[i], detail));
    if (detail == Detail::kGraph) continue;
    for (const Shape& shape : program.nodes[i].results) labels.back().Append(" " + ShapeText(shape));
  }
  return FingerprintOf(wiring, labels);
}

std::set<std::string> ReadFingerprints(std::string_view text) {
  std::set<std::string> all;
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!entry.empty() && (entry.back() == '\r' || entry.back() == ' ')) entry.remove_suffix(1);
    if (entry.empty()) continue;
    if (IsFingerprint(entry)) {
      all.emplace(entry);
      continue;
    }
    const auto json = nlohmann::json::parse(entry, nullptr, false);
    bool any = false;
    for (const char* key : {"fingerprint", "graph_fingerprint"}) {
      if (!json.is_object() || !json.contains(key) || !json[key].is_string()) continue;
      const std::string value = json[key].get<std::string>();
      if (!IsFingerprint(value)) continue;
      all.insert(value);
      any = true;
    }
    if (!any)
      throw UserError(fmt::format(
          "line {} is no fingerprint: 32 hexadecimal digits, or a JSON object that has them under "
          "\"fingerprint\" or \"graph_fingerprint\"",
          line));
  }
  return all;
}

}  // namespace tritogen::synth
