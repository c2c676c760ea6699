// What values do in chat templates: as Python's. For jinja_render.cc. All throw FormatError for a wrong type.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/jinja.h"

namespace tritogen::jinja {

[[noreturn]] void FailRender(const std::string& what);

inline Value Undefined() {
  return Value(Value::value_t::discarded);
}
// A function as a value: it is there, and true.
inline Value Function() {
  return Value::binary({});
}
bool IsTrue(const Value& value);
std::string ToText(const Value& value);              // as print does; nothing for undefined
Value ToList(const Value& value);                    // what a for goes over
std::string ToJson(const Value& value, int indent);  // json.dumps, ensure_ascii=False; indent < 0: one line

// Where it stands in the map; null when it is not there. A string has none either.
const Value* FindMember(const Value& object, const std::string& name);
// Of a list or a map; null: it has none such, or is neither.
const Value* FindElement(const Value& object, const Value& index);
Value Index(const Value& object, const Value& index);
Value Slice(const Value& object, std::optional<int64_t> begin, std::optional<int64_t> end,
            std::optional<int64_t> step);
bool Equal(const Value& a, const Value& b);
bool Contains(const Value& container, const Value& item);
bool Compare(const std::string& op, const Value& a, const Value& b);
Value Arithmetic(const std::string& op, const Value& a, const Value& b);

Value Method(const Value& object, const std::string& name, const std::vector<Value>& arguments);
Value Filter(const Value& value, const std::string& name, const std::vector<Value>& arguments,
             const Value& named);
bool Test(const Value& value, const std::string& name);

}  // namespace tritogen::jinja
