#include "text/jinja_values.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "text/added_tokens.h"

namespace tritogen::jinja {
namespace {

bool IsUndefined(const Value& value) {
  return value.is_discarded();
}

const std::string& Text(const Value& value) {
  if (!value.is_string()) FailRender(fmt::format("a string is expected, not {}", value.type_name()));
  return value.get_ref<const std::string&>();
}

// Characters of a string, a string each.
std::vector<std::string> Characters(const std::string& text) {
  std::vector<std::string> out;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t bytes = std::max<size_t>(1, Utf8CharacterBytes(rest));
    out.emplace_back(rest.substr(0, bytes));
    rest.remove_prefix(bytes);
  }
  return out;
}

// Python's strip: white space, or the characters given.
std::string Strip(const std::string& text, const std::vector<Value>& arguments, bool left, bool right) {
  const bool given = !arguments.empty() && !arguments[0].is_null();
  const std::string set = given ? Text(arguments[0]) : "";
  const auto stripped = [&](std::string_view character) {
    if (given) return set.find(character) != set.npos;
    const char32_t c = DecodeUtf8(character);
    return IsWhiteSpace(c) || (c >= 0x1c && c <= 0x1f);
  };
  std::string_view rest = text;
  while (left && !rest.empty()) {
    const size_t bytes = std::max<size_t>(1, Utf8CharacterBytes(rest));
    if (!stripped(rest.substr(0, bytes))) break;
    rest.remove_prefix(bytes);
  }
  while (right && !rest.empty()) {
    size_t last = rest.size() - 1;
    while (last > 0 && (rest[last] & 0xc0) == 0x80) --last;
    if (!stripped(rest.substr(last))) break;
    rest.remove_suffix(rest.size() - last);
  }
  return std::string(rest);
}

Value Split(const std::string& text, const std::vector<Value>& arguments) {
  Value parts = Value::array();
  const int64_t limit = arguments.size() > 1 ? arguments[1].get<int64_t>() : -1;
  if (arguments.empty() || arguments[0].is_null()) {
    std::string word;
    for (const auto& character : Characters(text + " ")) {
      if (!IsWhiteSpace(DecodeUtf8(character)))
        word += character;
      else if (!word.empty())
        parts.push_back(std::exchange(word, ""));
    }
    return parts;
  }
  const std::string& by = Text(arguments[0]);
  if (by.empty()) FailRender("split by an empty string");
  size_t from = 0;
  for (size_t at; static_cast<int64_t>(parts.size()) != limit && (at = text.find(by, from)) != text.npos;
       from = at + by.size()) {
    parts.push_back(text.substr(from, at - from));
  }
  parts.push_back(text.substr(from));
  return parts;
}

std::string Replace(const std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) FailRender("replace of an empty string");
  std::string out;
  size_t at = 0;
  for (size_t found; (found = text.find(from, at)) != text.npos; at = found + from.size()) {
    out += text.substr(at, found - at) + to;
  }
  return out + text.substr(at);
}

// ASCII only: what templates change the case of are roles.
std::string Cased(std::string text, int (*to)(int)) {
  for (char& c : text) {
    if (!(c & 0x80)) c = static_cast<char>(to(static_cast<unsigned char>(c)));
  }
  return text;
}

Value Items(const Value& object) {
  if (!object.is_object()) FailRender("items of what is no map");
  Value pairs = Value::array();
  for (const auto& [key, value] : object.items()) pairs.push_back(Value::array({key, value}));
  return pairs;
}

size_t Length(const Value& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
  }
  if (value.is_array() || value.is_object()) return value.size();
  if (IsUndefined(value)) return 0;
  FailRender(fmt::format("{} has no length", value.type_name()));
}

// Counted from the end where it is negative; nothing outside.
std::optional<size_t> PlaceOf(const Value& index, size_t size) {
  int64_t at = index.get<int64_t>();
  if (at < 0) at += static_cast<int64_t>(size);
  return at < 0 || at >= static_cast<int64_t>(size) ? std::nullopt : std::optional(static_cast<size_t>(at));
}

// What an argument is called, or comes as. Nothing: it is not given.
const Value* Argument(const std::vector<Value>& arguments, size_t place, const Value& named,
                      const std::string& name) {
  if (place < arguments.size()) return &arguments[place];
  const auto found = named.find(name);
  return found == named.end() ? nullptr : &*found;
}

// An argument that is not looked at must not be given.
void CheckNamed(const std::string& filter, const Value& named) {
  for (const auto& [name, value] : named.items()) {
    const bool known = filter == "default" || filter == "d" ? name == "default_value" || name == "boolean"
                       : filter == "tojson"                 ? name == "indent" || name == "ensure_ascii"
                                                            : false;
    if (!known)
      FailRender(fmt::format("the argument '{}' of the filter '{}' is not supported", name, filter));
  }
}

}  // namespace

void FailRender(const std::string& what) {
  throw FormatError(fmt::format("chat template: {}", what));
}

bool IsTrue(const Value& value) {
  if (IsUndefined(value) || value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  if (value.is_binary()) return true;
  return value.is_string() ? !value.get_ref<const std::string&>().empty() : !value.empty();
}

std::string ToText(const Value& value) {
  if (value.is_string()) return value.get<std::string>();
  if (IsUndefined(value)) return "";
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number()) return value.dump();
  if (value.is_binary()) FailRender("a function where text is expected");
  FailRender("a list or a map where text is expected; tojson writes them");
}

Value ToList(const Value& value) {
  if (value.is_array()) return value;
  Value list = Value::array();
  if (IsUndefined(value)) return list;
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) list.push_back(key);
  } else {
    for (const auto& character : Characters(Text(value))) list.push_back(character);
  }
  return list;
}

std::string ToJson(const Value& value, int indent) {
  const auto write = [&](const auto& self, const Value& v, int depth) -> std::string {
    if (v.is_binary()) FailRender("tojson of a function");
    if (!v.is_structured()) return IsUndefined(v) ? "null" : v.dump();
    if (v.empty()) return v.is_array() ? "[]" : "{}";
    const std::string gap =
        indent < 0 ? "" : "\n" + std::string(static_cast<size_t>(indent * (depth + 1)), ' ');
    const std::string last = indent < 0 ? "" : "\n" + std::string(static_cast<size_t>(indent * depth), ' ');
    std::string out = v.is_array() ? "[" : "{";
    bool first = true;
    for (const auto& [key, item] : v.items()) {
      out += (first ? "" : indent < 0 ? ", " : ",") + gap;
      if (v.is_object()) out += Value(key).dump() + ": ";
      out += self(self, item, depth + 1);
      first = false;
    }
    return out + last + (v.is_array() ? "]" : "}");
  };
  return write(write, value, 0);
}

const Value* FindMember(const Value& object, const std::string& name) {
  if (IsUndefined(object)) FailRender(fmt::format("'{}' of an undefined value", name));
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const Value* FindElement(const Value& object, const Value& index) {
  if (index.is_string()) return FindMember(object, index.get_ref<const std::string&>());
  if (!index.is_number_integer() || !object.is_array()) return nullptr;
  const auto place = PlaceOf(index, object.size());
  return place ? &object[*place] : nullptr;
}

Value Index(const Value& object, const Value& index) {
  if (const Value* element = FindElement(object, index)) return *element;
  if (index.is_string()) return Undefined();
  if (!index.is_number_integer()) FailRender("an index that is no integer and no string");
  if (object.is_array() || object.is_object()) return Undefined();
  const Value characters = ToList(object);
  const auto place = PlaceOf(index, characters.size());
  return place ? characters[*place] : Undefined();
}

Value Slice(const Value& object, std::optional<int64_t> begin, std::optional<int64_t> end,
            std::optional<int64_t> step) {
  constexpr int64_t kMostStep = int64_t{1} << 40;  // beyond any size, and far from overflow
  const int64_t by = std::clamp(step.value_or(1), -kMostStep, kMostStep);
  if (by == 0) FailRender("a slice with a step of 0");
  if (!object.is_array() && !object.is_string()) FailRender("a slice of what is no list and no string");
  const Value characters = object.is_array() ? Value() : ToList(object);
  const Value& list = object.is_array() ? object : characters;
  const int64_t size = static_cast<int64_t>(list.size()), low = by > 0 ? 0 : -1,
                high = by > 0 ? size : size - 1;
  const auto place = [&](std::optional<int64_t> given, int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + size : *given, low, high);
  };
  Value out = Value::array();
  const int64_t last = place(end, by > 0 ? size : -1);
  for (int64_t i = place(begin, by > 0 ? 0 : size - 1); by > 0 ? i < last : i > last; i += by) {
    out.push_back(list[static_cast<size_t>(i)]);
  }
  if (object.is_array()) return out;
  std::string text;
  for (const Value& character : out) text += character.get_ref<const std::string&>();
  return text;
}

// As in Python: true is 1, and the order of a map's keys says nothing.
bool Equal(const Value& a, const Value& b) {
  if (IsUndefined(a) || IsUndefined(b)) return IsUndefined(a) && IsUndefined(b);
  if (a.is_boolean() != b.is_boolean()) {
    const Value &boolean = a.is_boolean() ? a : b, &other = a.is_boolean() ? b : a;
    return other.is_number() && other == Value(boolean.get<bool>() ? 1 : 0);
  }
  if (!a.is_structured() || a.type() != b.type()) return a == b;
  if (a.size() != b.size()) return false;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), Equal);
  return std::all_of(a.items().begin(), a.items().end(), [&](const auto& item) {
    const auto found = b.find(item.key());
    return found != b.end() && Equal(item.value(), *found);
  });
}

bool Contains(const Value& container, const Value& item) {
  if (container.is_string())
    return container.get_ref<const std::string&>().find(Text(item)) != std::string::npos;
  if (container.is_object()) return item.is_string() && container.contains(item.get<std::string>());
  const Value made = container.is_array() ? Value() : ToList(container);
  const Value& list = container.is_array() ? container : made;
  return std::any_of(list.begin(), list.end(), [&](const Value& each) { return Equal(each, item); });
}

bool Compare(const std::string& op, const Value& a, const Value& b) {
  if (!(a.is_number() && b.is_number()) && !(a.is_string() && b.is_string())) {
    FailRender(fmt::format("'{}' between {} and {}", op, a.type_name(), b.type_name()));
  }
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  return op == ">" ? b < a : b <= a;
}

Value Arithmetic(const std::string& op, const Value& a, const Value& b) {
  if (op == "+" && a.is_string() && b.is_string()) return a.get<std::string>() + b.get<std::string>();
  if (op == "+" && a.is_array() && b.is_array()) {
    Value sum = a;
    sum.insert(sum.end(), b.begin(), b.end());
    return sum;
  }
  if (!a.is_number() || !b.is_number())
    FailRender(fmt::format("'{}' between {} and {}", op, a.type_name(), b.type_name()));
  if (a.is_number_integer() && b.is_number_integer() && op != "/") {
    const int64_t x = a.get<int64_t>(), y = b.get<int64_t>();
    int64_t result = 0;
    bool overflow = false;
    if (op == "+") overflow = __builtin_add_overflow(x, y, &result);
    if (op == "-") overflow = __builtin_sub_overflow(x, y, &result);
    if (op == "*") overflow = __builtin_mul_overflow(x, y, &result);
    if (op == "//" || op == "%") {
      if (y == 0 || y == -1) FailRender("a division by 0 or -1");
      const int64_t quotient =
          x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);  // rounds down, as Python's
      result = op == "%" ? x - quotient * y : quotient;
    }
    if (overflow) FailRender("an integer out of range");
    return result;
  }
  const double x = a.get<double>(), y = b.get<double>();
  if (op == "+") return x + y;
  if (op == "-") return x - y;
  if (op == "*") return x * y;
  if (op != "/" || y == 0) FailRender(fmt::format("'{}' of these numbers", op));
  return x / y;
}

Value Method(const Value& object, const std::string& name, const std::vector<Value>& arguments) {
  if (object.is_string()) {
    const std::string& text = object.get_ref<const std::string&>();
    if (name == "strip") return Strip(text, arguments, true, true);
    if (name == "lstrip") return Strip(text, arguments, true, false);
    if (name == "rstrip") return Strip(text, arguments, false, true);
    if (name == "split") return Split(text, arguments);
    if (name == "upper") return Cased(text, std::toupper);
    if (name == "lower") return Cased(text, std::tolower);
    if (name == "startswith" && arguments.size() == 1) return text.starts_with(Text(arguments[0]));
    if (name == "endswith" && arguments.size() == 1) return text.ends_with(Text(arguments[0]));
    if (name == "replace" && arguments.size() == 2)
      return Replace(text, Text(arguments[0]), Text(arguments[1]));
  }
  if (object.is_object()) {
    if (name == "items") return Items(object);
    if (name == "keys") return ToList(object);
    if (name == "get" && !arguments.empty()) {
      const Value* const found = FindMember(object, Text(arguments[0]));
      return found ? *found : arguments.size() > 1 ? arguments[1] : Value(nullptr);
    }
  }
  FailRender(fmt::format("the method '{}' of {} is not supported", name,
                         IsUndefined(object) ? "undefined" : object.type_name()));
}

Value Filter(const Value& value, const std::string& name, const std::vector<Value>& arguments,
             const Value& named) {
  CheckNamed(name, named);
  if (name == "trim") return Strip(ToText(value), arguments, true, true);
  if (name == "length" || name == "count") return Length(value);
  if (name == "string") return ToText(value);
  if (name == "upper") return Cased(ToText(value), std::toupper);
  if (name == "lower") return Cased(ToText(value), std::tolower);
  if (name == "list") return ToList(value);
  if (name == "items") return Items(value);
  if (name == "safe") return value;
  if (name == "first") return Index(value, 0);
  if (name == "last") return Index(value, -1);
  if (name == "reverse") return Slice(value, std::nullopt, std::nullopt, -1);
  if (name == "replace" && arguments.size() == 2)
    return Replace(ToText(value), Text(arguments[0]), Text(arguments[1]));
  if (name == "default" || name == "d") {
    const Value* const otherwise = Argument(arguments, 0, named, "default_value");
    const Value* const boolean = Argument(arguments, 1, named, "boolean");
    const bool use = IsUndefined(value) || (boolean && IsTrue(*boolean) && !IsTrue(value));
    return !use ? value : otherwise ? *otherwise : Value("");
  }
  if (name == "join") {
    std::string out;
    bool first = true;
    for (const Value& item : ToList(value)) {
      if (!std::exchange(first, false) && !arguments.empty()) out += Text(arguments[0]);
      out += ToText(item);
    }
    return out;
  }
  if (name == "tojson") {
    // transformers' own filter, whose first argument is not Jinja's.
    const Value* const ascii = Argument(arguments, 0, named, "ensure_ascii");
    const Value* const indent = Argument(arguments, 1, named, "indent");
    if (ascii && IsTrue(*ascii)) FailRender("tojson with ensure_ascii is not supported");
    return ToJson(value, indent && indent->is_number_integer() ? std::clamp(indent->get<int>(), 0, 16) : -1);
  }
  FailRender(fmt::format("the filter '{}' is not supported", name));
}

bool Test(const Value& value, const std::string& name) {
  if (name == "defined") return !IsUndefined(value);
  if (name == "undefined") return IsUndefined(value);
  if (name == "none") return value.is_null();
  if (name == "string") return value.is_string();
  if (name == "mapping") return value.is_object();
  if (name == "sequence" || name == "iterable")
    return value.is_array() || value.is_string() || value.is_object();
  if (name == "number") return value.is_number() || value.is_boolean();
  if (name == "integer") return value.is_number_integer();
  if (name == "boolean") return value.is_boolean();
  if (name == "true") return value.is_boolean() && value.get<bool>();
  if (name == "false") return value.is_boolean() && !value.get<bool>();
  FailRender(fmt::format("the test '{}' is not supported", name));
}

}  // namespace tritogen::jinja
