#include "program/catalogue.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "program/catalogue_rows.h"

namespace tritogen {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> SplitCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t comma = text.find(',');
    parts.push_back(Trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return parts;
}

}  // namespace

const std::vector<OpRow>& Catalogue() {
  static const std::vector<OpRow> rows = [] {
    std::vector<OpRow> all = PointwiseRows();
    for (const OpRow& row : CompoundRows()) all.push_back(row);
    return all;
  }();
  return rows;
}

std::string_view WithoutNamespace(std::string_view aten_name) {
  if (aten_name.starts_with("aten::")) aten_name.remove_prefix(6);
  return aten_name;
}

std::string_view BaseName(std::string_view aten_name) {
  std::string_view name = WithoutNamespace(aten_name);
  return name.substr(0, name.find('.'));
}

bool IsInPlace(std::string_view aten_name) {
  std::string_view base = BaseName(aten_name);
  return base.ends_with('_') && !base.ends_with("__");
}

const OpRow* FindOp(std::string_view aten_name) {
  static const std::unordered_map<std::string_view, const OpRow*> index = [] {
    std::unordered_map<std::string_view, const OpRow*> rows;
    for (const OpRow& row : Catalogue()) TRITOGEN_CHECK(rows.emplace(row.name, &row).second);
    return rows;
  }();
  std::string_view name = WithoutNamespace(aten_name);
  if (auto it = index.find(name); it != index.end()) return it->second;
  if (auto it = index.find(BaseName(name)); it != index.end()) return it->second;
  return nullptr;
}

std::optional<BoundArgs> BoundArgs::Bind(const OpRow& row, const Node& node) {
  BoundArgs bound;
  size_t used = 0;
  auto params = SplitCommas(row.params);
  if (node.args.size() > params.size()) return std::nullopt;
  for (size_t i = 0; i < params.size(); ++i) {
    size_t equals = params[i].find('=');
    std::string name(params[i].substr(0, equals));
    const Arg* found = i < node.args.size() ? &node.args[i] : nullptr;
    for (const auto& [key, value] : node.kwargs) {
      if (key != name) continue;
      if (found != nullptr) return std::nullopt;
      found = &value;
      ++used;
    }
    if (found == nullptr && equals == std::string_view::npos) return std::nullopt;
    bound.args_.emplace_back(name, found != nullptr ? *found : ParseLiteral(params[i].substr(equals + 1)));
  }
  if (used != node.kwargs.size()) return std::nullopt;
  return bound;
}

const Arg& BoundArgs::operator[](std::string_view name) const {
  static const Arg none;
  for (const auto& [key, value] : args_) {
    if (key == name) return value;
  }
  return none;
}

bool BoundArgs::Holds(std::string_view when) const {
  for (std::string_view condition : SplitCommas(when)) {
    size_t equals = condition.find('=');
    TRITOGEN_CHECK(equals != std::string_view::npos);
    const Arg& have = (*this)[condition.substr(0, equals)];
    Arg want = ParseLiteral(condition.substr(equals + 1));
    auto a = AsNumber(have), b = AsNumber(want);
    if (a && b ? *a != *b : !(have == want)) return false;
  }
  return true;
}

Arg ParseLiteral(std::string_view text) {
  text = Trim(text);
  if (text == "None") return Arg{};
  if (text == "True" || text == "False") return Arg{text == "True"};
  if (text == "[]") return Arg{Arg::List{}};
  if (text.starts_with('\'')) return Arg{std::string(text.substr(1, text.size() - 2))};
  int64_t integer = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error == std::errc() && end == text.data() + text.size()) return Arg{integer};
  double number = 0;
  auto [end2, error2] = std::from_chars(text.data(), text.data() + text.size(), number);
  TRITOGEN_CHECK(error2 == std::errc() && end2 == text.data() + text.size());
  return Arg{number};
}

std::string PythonLiteral(const Arg& arg) {
  struct Printer {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const {
      if (std::isnan(v)) return "float(\"nan\")";
      if (std::isinf(v)) return v > 0 ? "float(\"inf\")" : "float(\"-inf\")";
      std::string text = fmt::format("{}", v);
      return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
    }
    std::string operator()(const std::string& v) const {
      std::string text = "\"";
      for (char c : v) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
      }
      return text + "\"";
    }
    std::string operator()(NodeRef) const {
      TRITOGEN_CHECK(false && "a literal has no node");
      return "";
    }
    std::string operator()(Dtype v) const { return fmt::format("torch.{}", DtypeName(v)); }
    std::string operator()(const Arg::List& list) const {
      std::string text = "[";
      for (const Arg& item : list) text += (text.size() > 1 ? ", " : "") + PythonLiteral(item);
      return text + "]";
    }
  };
  return std::visit(Printer{}, arg.v);
}

std::optional<double> AsNumber(const Arg& arg) {
  if (auto* v = std::get_if<double>(&arg.v)) return *v;
  if (auto* v = std::get_if<int64_t>(&arg.v)) return static_cast<double>(*v);
  return std::nullopt;
}

std::optional<int64_t> AsInt(const Arg& arg) {
  if (auto* v = std::get_if<int64_t>(&arg.v)) return *v;
  return std::nullopt;
}

bool AsBool(const Arg& arg, bool otherwise) {
  if (auto* v = std::get_if<bool>(&arg.v)) return *v;
  if (auto* v = std::get_if<int64_t>(&arg.v)) return *v != 0;
  return otherwise;
}

bool IsNone(const Arg& arg) {
  return std::holds_alternative<std::monostate>(arg.v);
}

const NodeRef* AsRef(const Arg& arg) {
  return std::get_if<NodeRef>(&arg.v);
}

std::optional<std::vector<int64_t>> AsInts(const Arg& arg) {
  if (auto v = AsInt(arg)) return std::vector<int64_t>{*v};
  auto* list = std::get_if<Arg::List>(&arg.v);
  if (list == nullptr) return std::nullopt;
  std::vector<int64_t> values;
  for (const Arg& item : *list) {
    auto v = AsInt(item);
    if (!v) return std::nullopt;
    values.push_back(*v);
  }
  return values;
}

}  // namespace tritogen
