#include "synth/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

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

uint64_t HashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return SplitMix::Mix(hash);
}

bool Commutative(const Node& node) {
  static const std::set<std::string_view> kNames{"add",         "mul",         "maximum",    "minimum",
                                                 "eq",          "ne",          "logical_or", "logical_xor",
                                                 "logical_and", "bitwise_and", "bitwise_or", "bitwise_xor"};
  const std::string_view name = WithoutNamespace(node.op);
  if (name == "max.other" || name == "min.other") return true;
  return kNames.contains(BaseName(node.op)) && node.args.size() == 2 && node.kwargs.empty();
}

// What an operation is, but for its operands: they become a place each.
std::string Label(const Node& node, Detail detail) {
  std::string text(detail == Detail::kSizes ? WithoutNamespace(node.op) : BaseName(node.op));
  if (node.kind != NodeKind::kOp) text = "input";
  std::function<void(const Arg&)> add = [&](const Arg& arg) {
    if (AsRef(arg) != nullptr) {
      text += " @";
    } else if (const Arg::List* list = AsList(arg)) {
      text += " [";
      for (const Arg& item : *list) add(item);
      text += "]";
    } else if (detail == Detail::kSizes) {
      text += " " + PythonLiteral(arg);
    }
  };
  for (const Arg& arg : node.args) add(arg);
  for (const auto& [name, arg] : node.kwargs) {
    text += " " + name + "=";
    add(arg);
  }
  if (detail == Detail::kSizes) {
    for (const Shape& shape : node.results) text += " " + ShapeText(shape);
  }
  return text;
}

// The program as a labelled graph, and the search for the least of its texts: colours are refined until they
// are stable (Weisfeiler and Leman); where nodes stay alike, each of them is told apart in turn.
class Canon {
 public:
  Canon(const Program& program, Detail detail) {
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
      number[i] = static_cast<int>(labels_.size());
      labels_.push_back(Label(program.nodes[i], detail));
      edges_.emplace_back();
      const bool commutes = Commutative(program.nodes[i]);
      int place = 0;
      ForEachRef(program.nodes[i], [&](NodeRef ref) {
        edges_.back().push_back({number[ref.id], ref.result, commutes ? 0 : place++});
      });
    }
    uses_.resize(labels_.size());
    for (size_t i = 0; i < edges_.size(); ++i) {
      for (const Edge& edge : edges_[i])
        uses_[edge.node].push_back({static_cast<int>(i), edge.result, edge.place});
    }
    for (NodeRef ref : program.outputs) {
      if (ref.id >= 0) outputs_.emplace_back(number[ref.id], ref.result);
    }
  }

  std::string Text() {
    std::vector<uint64_t> colours;
    for (const std::string& label : labels_) colours.push_back(HashText(label));
    for (auto [node, result] : outputs_) colours[node] += Combine(0x6f7574, result);  // in any order
    Search(std::move(colours));
    return best_;
  }

 private:
  struct Edge {
    int node, result, place;
    auto operator<=>(const Edge&) const = default;
  };

  static bool Same(std::vector<Edge> a, std::vector<Edge> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  }

  static size_t Kinds(std::vector<uint64_t> colours) {
    std::sort(colours.begin(), colours.end());
    return std::unique(colours.begin(), colours.end()) - colours.begin();
  }

  void Refine(std::vector<uint64_t>* colours) const {
    size_t kinds = Kinds(*colours);
    while (kinds < colours->size()) {
      std::vector<uint64_t> next(colours->size());
      for (size_t i = 0; i < next.size(); ++i) {
        uint64_t below = 0, above = 0;  // sums: the order of what comes together does not matter
        for (const Edge& e : edges_[i]) below += Combine(Combine((*colours)[e.node], e.result), e.place);
        for (const Edge& e : uses_[i]) above += Combine(Combine((*colours)[e.node], e.result), e.place);
        next[i] = Combine(Combine((*colours)[i], below), above);
      }
      const size_t more = Kinds(next);
      if (more == kinds) return;
      kinds = more;
      *colours = std::move(next);
    }
  }

  void Search(std::vector<uint64_t> colours) {
    Refine(&colours);
    std::map<uint64_t, std::vector<int>> cells;
    for (size_t i = 0; i < colours.size(); ++i) cells[colours[i]].push_back(static_cast<int>(i));
    for (const auto& [colour, nodes] : cells) {
      if (nodes.size() == 1) continue;
      for (int node : nodes) {
        // Twins, used alike by the same nodes, can be exchanged: one of them is enough.
        if (node != nodes[0] && Same(edges_[node], edges_[nodes[0]]) && Same(uses_[node], uses_[nodes[0]]))
          continue;
        if (labelings_ >= kMostLabelings && !best_.empty()) return;
        std::vector<uint64_t> apart = colours;
        apart[node] = Combine(colour, 0x6170617274);
        Search(std::move(apart));
      }
      return;
    }
    ++labelings_;
    std::string text = Written(cells);
    if (best_.empty() || text < best_) best_ = std::move(text);
  }

  // One line a node, in the order of their colours, which are all different.
  std::string Written(const std::map<uint64_t, std::vector<int>>& cells) const {
    std::vector<int> place(labels_.size());
    int next = 0;
    for (const auto& [colour, nodes] : cells) place[nodes[0]] = next++;
    std::string text;
    for (const auto& [colour, nodes] : cells) {
      std::vector<std::array<int, 3>> operands;
      for (const Edge& e : edges_[nodes[0]]) operands.push_back({e.place, place[e.node], e.result});
      std::sort(operands.begin(), operands.end());
      text += labels_[nodes[0]];
      for (const auto& o : operands) text += fmt::format(" {}:{}.{}", o[0], o[1], o[2]);
      text += '\n';
    }
    std::vector<std::pair<int, int>> outputs;
    for (auto [node, result] : outputs_) outputs.emplace_back(place[node], result);
    std::sort(outputs.begin(), outputs.end());
    for (auto [node, result] : outputs) text += fmt::format("return {}.{}\n", node, result);
    return text;
  }

  std::vector<std::string> labels_;
  std::vector<std::vector<Edge>> edges_, uses_;  // operands of a node; who takes it
  std::vector<std::pair<int, int>> outputs_;
  int labelings_ = 0;
  std::string best_;
};

bool IsFingerprint(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string Fingerprint(const Program& program, Detail detail) {
  return Sha256Hex(Canon(program, detail).Text()).substr(0, 32);
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
