#include "program/signature.h"

#include "base/error.h"
#include "base/text.h"

namespace tritogen {
namespace {

using Type = Param::Type;

bool Ends(std::string_view* text, std::string_view suffix) {
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}

Type TypeFromText(std::string_view type) {
  constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"Tensor", Type::kTensor},       {"int", Type::kInt},
      {"float", Type::kFloat},         {"Scalar", Type::kScalar},
      {"bool", Type::kBool},           {"str", Type::kString},
      {"ScalarType", Type::kDtype},    {"Device", Type::kPlacement},
      {"Layout", Type::kPlacement},    {"MemoryFormat", Type::kPlacement},
      {"Generator", Type::kPlacement},
  };
  for (const auto& [name, found] : kTypes) {
    if (name == type) return found;
  }
  throw InternalError("unknown type in a schema of the catalogue: " + std::string(type));
}

// "int[2]? stride=1"
Param ParseParam(std::string_view text) {
  Param param;
  const size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    std::string_view otherwise = text.substr(equals + 1);
    text = text.substr(0, equals);
    param.otherwise = otherwise == "contiguous_format" ? Arg{} : ParseLiteral(otherwise);
  }
  const size_t blank = text.rfind(' ');
  TRITOGEN_CHECK(blank != std::string_view::npos);
  param.name = text.substr(blank + 1);
  std::string_view type = text.substr(0, blank);
  param.nullable = Ends(&type, "?");
  if (Ends(&type, "]")) {
    const size_t open = type.rfind('[');
    const std::string_view count = type.substr(open + 1);
    if (!count.empty()) param.count = static_cast<int>(*AsInt(ParseLiteral(count)));
    type = type.substr(0, open);
    Ends(&type, "?");
    param.type = type == "Tensor" ? Type::kTensors : type == "int" ? Type::kInts : Type::kPlacement;
    if (type == "float") param.type = Type::kPlacement;  // scale factors that sizes repeat
    return param;
  }
  param.type = TypeFromText(type);
  if (param.name == "pin_memory") param.type = Type::kPlacement;
  return param;
}

bool AllOf(const Arg& arg, bool (*holds)(const Arg&)) {
  const Arg::List* list = AsList(arg);
  if (list == nullptr) return false;
  for (const Arg& item : *list) {
    if (!holds(item)) return false;
  }
  return true;
}

// int[2] is two sizes, but int[1] of `dim`, `dims` and `shifts` is any number of them.
bool IsFixed(const Param& param) {
  return param.count > 1 || (param.count == 1 && !param.name.starts_with("dim") && param.name != "shifts");
}

bool IsInt(const Arg& arg) {
  return AsInt(arg).has_value();
}
bool IsBool(const Arg& arg) {
  return std::holds_alternative<bool>(arg.v);
}
bool IsTensorOrNone(const Arg& arg) {
  return AsRef(arg) != nullptr || IsNone(arg);
}

}  // namespace

bool Param::Accepts(const Arg& arg) const {
  if (IsNone(arg)) return nullable || type == Type::kPlacement;
  switch (type) {
    case Type::kTensor:
      return AsRef(arg) != nullptr || AsNumber(arg).has_value() || IsBool(arg);
    case Type::kTensors:
      return AllOf(arg, IsTensorOrNone);
    case Type::kInt:
      return IsInt(arg);
    case Type::kInts:
      return IsInt(arg) || (AllOf(arg, IsInt) && (!IsFixed(*this) || AsList(arg)->size() <= 1 ||
                                                  AsList(arg)->size() == static_cast<size_t>(count)));
    case Type::kFloat:
      return AsNumber(arg).has_value();
    case Type::kScalar:
      return AsNumber(arg).has_value() || IsBool(arg);
    case Type::kBool:
      return IsBool(arg) || IsInt(arg);
    case Type::kString:
      return std::holds_alternative<std::string>(arg.v);
    case Type::kDtype:
      return std::holds_alternative<Dtype>(arg.v);
    case Type::kPlacement:
      return AsRef(arg) == nullptr;
  }
  return false;
}

const Param* Signature::Find(std::string_view param) const {
  const int at = IndexOf(param);
  return at < 0 ? nullptr : &params[at];
}

int Signature::IndexOf(std::string_view param) const {
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == param) return static_cast<int>(i);
  }
  return -1;
}

Signature ParseSignature(std::string_view schema) {
  Signature signature;
  signature.schema = schema;
  const size_t open = schema.find('('), arrow = schema.find(") -> ");
  TRITOGEN_CHECK(open != std::string_view::npos && arrow != std::string_view::npos);
  signature.name = schema.substr(0, open);
  bool keyword_only = false;
  for (std::string_view part : SplitOutside(schema.substr(open + 1, arrow - open - 1), ',')) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    signature.params.push_back(ParseParam(part));
    signature.params.back().keyword_only = keyword_only;
  }
  std::string_view result = schema.substr(arrow + 5);
  if (result.ends_with("[]")) {
    signature.results = -1;
  } else if (result.starts_with('(')) {
    signature.results = static_cast<int>(SplitOutside(result.substr(1, result.size() - 2), ',').size());
  }
  return signature;
}

std::optional<BoundArgs> BoundArgs::Bind(const Signature& signature, const Node& node) {
  BoundArgs bound;
  size_t used = 0, positional = 0;
  for (const Param& param : signature.params) {
    const Arg* found = nullptr;
    if (!param.keyword_only && positional < node.args.size()) found = &node.args[positional++];
    for (const auto& [key, value] : node.kwargs) {
      if (key != param.name) continue;
      if (found != nullptr) return std::nullopt;
      found = &value;
      ++used;
    }
    if (found == nullptr && !param.otherwise) return std::nullopt;
    const bool is_default = found == nullptr || (param.otherwise && *found == *param.otherwise);
    if (!is_default && !param.Accepts(*found)) return std::nullopt;
    bound.args_.emplace_back(param.name, found != nullptr ? *found : *param.otherwise);
  }
  if (used != node.kwargs.size() || positional != node.args.size()) return std::nullopt;
  return bound;
}

const Arg& BoundArgs::operator[](std::string_view name) const {
  static const Arg none;
  for (const auto& [key, value] : args_) {
    if (key == name) return value;
  }
  return none;
}

Arg* BoundArgs::Find(std::string_view name) {
  for (auto& [key, value] : args_) {
    if (key == name) return &value;
  }
  return nullptr;
}

namespace {

// 1 is 1.0 here.
bool IsLiteral(const Arg& have, const Arg& want) {
  const auto a = AsNumber(have), b = AsNumber(want);
  return a && b ? *a == *b : have == want;
}

}  // namespace

bool BoundArgs::Holds(std::string_view when) const {
  for (std::string_view condition : SplitOutside(when, ',')) {
    size_t equals = condition.find('=');
    TRITOGEN_CHECK(equals != std::string_view::npos);
    const Arg& have = (*this)[condition.substr(0, equals)];
    const std::string_view what = condition.substr(equals + 1);
    if (what == "tensor" ? AsRef(have) == nullptr : !IsLiteral(have, ParseLiteral(what))) return false;
  }
  return true;
}

namespace {

Arg Normal(const Param& param, Arg arg) {
  if (param.type == Type::kFloat && IsInt(arg)) return Arg{*AsNumber(arg)};
  if (param.type == Type::kBool && IsInt(arg)) return Arg{*AsInt(arg) != 0};
  if (param.type == Type::kInts && IsInt(arg))
    return IntsArg(std::vector<int64_t>(std::max(param.count, 1), *AsInt(arg)));
  if (param.type == Type::kInts && param.count > 1) {
    if (auto ints = AsInts(arg); ints && ints->size() == 1)
      return IntsArg(std::vector<int64_t>(param.count, (*ints)[0]));
  }
  return arg;
}

}  // namespace

// 1 and 1.0 promote dtypes differently where they are Scalars, but a default may be given as either.
bool Param::IsDefault(const Arg& arg) const {
  if (!otherwise) return false;
  const Arg a = Normal(*this, arg), b = Normal(*this, *otherwise);
  if (a == b) return true;
  const auto x = AsNumber(a), y = AsNumber(b);
  return x && y && *x == *y;
}

void SetArgs(const Signature& signature, const BoundArgs& args, Node* node) {
  std::vector<Arg> positional;
  std::vector<std::pair<std::string, Arg>> keywords;
  size_t needed = 0;
  for (const Param& param : signature.params) {
    const bool is_default = param.IsDefault(args[param.name]);
    Arg arg = Normal(param, is_default ? *param.otherwise : args[param.name]);
    const bool wanted = param.type != Type::kPlacement && !is_default;
    if (param.keyword_only) {
      if (wanted) keywords.emplace_back(param.name, std::move(arg));
      continue;
    }
    positional.push_back(std::move(arg));
    if (wanted || !param.otherwise) needed = positional.size();
  }
  positional.resize(needed);
  node->args = std::move(positional);
  node->kwargs = std::move(keywords);
}

std::vector<std::string_view> SplitOutside(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == separator && depth == 0) {
      parts.push_back(Trimmed(text.substr(start, i - start), " "));
      start = i + 1;
    }
  }
  if (std::string_view last = Trimmed(text.substr(std::min(start, text.size())), " "); !last.empty())
    parts.push_back(last);
  return parts;
}

}  // namespace tritogen
