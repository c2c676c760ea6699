#include "program/spelling.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"

namespace tritogen {
namespace {

constexpr std::string_view kQualified = "torch.ops.aten.";
constexpr std::string_view kReductions[] = {"none", "mean", "sum"};

// The column `torch` taken apart.
struct Spelling {
  struct Item {
    std::string python, aten;
    std::optional<Arg> literal;  // of a parameter that only Python has
  };
  std::string callee;
  bool lists = false;  // whether `items` says the parameters; otherwise they are the schema's
  std::vector<Item> items;
  std::vector<std::pair<std::string, Arg>> assumed;
};

Spelling ParseSpelling(std::string_view text) {
  Spelling spelling;
  const size_t open = text.find('(');
  spelling.callee = text.substr(0, open);
  if (open == std::string_view::npos) return spelling;
  spelling.lists = true;
  const auto halves = SplitOutside(text.substr(open + 1, text.size() - open - 2), ';');
  for (std::string_view item : SplitOutside(halves.empty() ? "" : halves[0], ',')) {
    const size_t equals = item.find('=');
    const std::string python(item.substr(0, equals));
    if (equals == std::string_view::npos) {
      spelling.items.push_back({python, python, {}});
    } else if (auto literal = ReadLiteral(item.substr(equals + 1))) {
      spelling.items.push_back({python, "", literal});
    } else {
      spelling.items.push_back({python, std::string(item.substr(equals + 1)), {}});
    }
  }
  if (halves.size() < 2) return spelling;
  for (std::string_view item : SplitOutside(halves[1], ',')) {
    const size_t equals = item.find('=');
    spelling.assumed.emplace_back(item.substr(0, equals), ParseLiteral(item.substr(equals + 1)));
  }
  return spelling;
}

const Spelling& SpellingOf(const OpRow& row) {
  static const std::unordered_map<const OpRow*, Spelling> all = [] {
    std::unordered_map<const OpRow*, Spelling> map;
    for (const OpRow& row : Catalogue()) map.emplace(&row, ParseSpelling(row.torch));
    return map;
  }();
  return all.at(&row);
}

// Parameters of the Python function for one of the row's signatures.
std::vector<Spelling::Item> ItemsOf(const Spelling& spelling, const Signature& signature) {
  if (spelling.lists) return spelling.items;
  std::vector<Spelling::Item> items;
  for (const Param& param : signature.params) {
    if (param.type != Param::Type::kPlacement) items.push_back({param.name, param.name, {}});
  }
  return items;
}

bool IsWord(const Spelling& spelling, const Param& param) {
  return param.name == "reduction" && param.type == Param::Type::kInt &&
         spelling.callee.starts_with("torch.nn.functional.");
}

Arg ToPython(const Spelling& spelling, const Param& param, const Arg& arg) {
  const auto code = AsInt(arg);
  if (!IsWord(spelling, param) || !code || *code < 0 || *code > 2) return arg;
  return Arg{std::string(kReductions[*code])};
}

Arg FromPython(const Spelling& spelling, const Param& param, const Arg& arg) {
  const auto* word = std::get_if<std::string>(&arg.v);
  if (!IsWord(spelling, param) || word == nullptr) return arg;
  const auto* found = std::find(std::begin(kReductions), std::end(kReductions), *word);
  return found == std::end(kReductions) ? arg : Arg{static_cast<int64_t>(found - std::begin(kReductions))};
}

bool ByPosition(const Param& param) {
  using Type = Param::Type;
  const bool operand = param.IsTensor() || param.IsInteger() || param.type == Type::kScalar;
  return operand && !param.otherwise && !param.keyword_only && param.name != "dim";
}

bool SameArgs(const Node& a, const Node& b) {
  return a.op == b.op && a.args == b.args && a.kwargs == b.kwargs;
}

std::optional<PythonCall> SpellByColumn(const OpCall& call) {
  const Spelling& spelling = SpellingOf(*call.row);
  if (spelling.callee.empty()) return std::nullopt;
  PythonCall python{spelling.callee, {}, {}};
  const bool subscript = spelling.callee == "[]";
  if (subscript && AsInt(call.args["dim"]).value_or(-1) < 0)
    return std::nullopt;  // colons count from the front
  for (const Spelling::Item& item : ItemsOf(spelling, *call.signature)) {
    if (item.literal) {
      python.kwargs.emplace_back(item.python, *item.literal);
      continue;
    }
    const Param* param = call.signature->Find(item.aten);
    if (param == nullptr) continue;  // of another overload
    const Arg& arg = call.args[item.aten];
    if (subscript) {
      python.args.push_back(arg);
      continue;
    }
    if (param->IsDefault(arg)) continue;
    if (ByPosition(*param) && python.kwargs.empty()) {
      python.args.push_back(arg);
    } else {
      python.kwargs.emplace_back(item.python, ToPython(spelling, *param, arg));
    }
  }
  return python;
}

// "torch.ops.aten.add.Tensor" with the node's own arguments.
PythonCall SpellByName(const Node& node) {
  std::string callee = std::string(kQualified) + std::string(WithoutNamespace(node.op));
  if (callee.find('.', kQualified.size()) == std::string::npos) callee += ".default";
  return {std::move(callee), node.args, node.kwargs};
}

std::optional<Node> UnspellByName(const PythonCall& call) {
  Node node;
  node.op = "aten::" + call.callee.substr(kQualified.size());
  if (node.op.ends_with(".default")) node.op.resize(node.op.size() - 8);
  node.args = call.args;
  node.kwargs = call.kwargs;
  if (auto bound = BindCall(node)) SetArgs(*bound->signature, bound->args, &node);
  return node;
}

std::optional<Node> UnspellAs(const PythonCall& call, const OpRow& row, const Signature& signature) {
  const Spelling& spelling = SpellingOf(row);
  const auto items = ItemsOf(spelling, signature);
  if (call.args.size() > items.size()) return std::nullopt;
  Node node;
  node.op = "aten::" + signature.name;
  size_t literals = 0;
  auto give = [&](const Spelling::Item& item, const Arg& arg) {
    const Param* param = signature.Find(item.aten);
    if (item.literal) {
      ++literals;
      return arg == *item.literal;
    }
    if (param == nullptr) return false;
    node.kwargs.emplace_back(item.aten, FromPython(spelling, *param, arg));
    return true;
  };
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!give(items[i], call.args[i])) return std::nullopt;
  }
  for (const auto& [key, arg] : call.kwargs) {
    auto item = std::find_if(items.begin(), items.end(), [&](const auto& it) { return it.python == key; });
    if (item == items.end() || !give(*item, arg)) return std::nullopt;
  }
  const auto wanted = std::count_if(items.begin(), items.end(), [](const auto& it) { return !!it.literal; });
  if (static_cast<size_t>(wanted) != literals) return std::nullopt;
  for (const auto& [aten, value] : spelling.assumed) node.kwargs.emplace_back(aten, value);
  auto bound = BoundArgs::Bind(signature, node);
  if (!bound) return std::nullopt;
  SetArgs(signature, *bound, &node);
  return node;
}

}  // namespace

PythonCall Spell(const Node& node) {
  TRITOGEN_CHECK(node.kind == NodeKind::kOp);
  auto bound = BindCall(node);
  if (!bound) return SpellByName(node);
  auto python = SpellByColumn(*bound);
  if (!python) return SpellByName(node);
  Node normal;
  normal.op = "aten::" + bound->signature->name;
  SetArgs(*bound->signature, bound->args, &normal);
  auto read = Unspell(*python);
  return read && SameArgs(*read, normal) ? *python : SpellByName(node);
}

std::optional<Node> Unspell(const PythonCall& call) {
  static const std::unordered_multimap<std::string_view, const OpRow*> rows_of = [] {
    std::unordered_multimap<std::string_view, const OpRow*> map;
    for (const OpRow& row : Catalogue()) map.emplace(SpellingOf(row).callee, &row);
    return map;
  }();
  if (call.callee.starts_with(kQualified)) return UnspellByName(call);
  if (call.callee.empty()) return std::nullopt;
  auto [begin, end] = rows_of.equal_range(call.callee);
  std::vector<const OpRow*> rows;
  for (auto it = begin; it != end; ++it) rows.push_back(it->second);
  std::sort(rows.begin(), rows.end());  // the catalogue's order: all rows stand in one vector
  for (const OpRow* row : rows) {
    for (const Signature& signature : row->signatures) {
      if (auto node = UnspellAs(call, *row, signature)) return node;
    }
  }
  return std::nullopt;
}

}  // namespace tritogen
