// What a summary says, read leniently: what is missing or of another kind is empty, zero or nothing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tritogen::report {

inline const nlohmann::ordered_json& In(const nlohmann::ordered_json& object, std::string_view key) {
  static const nlohmann::ordered_json kNone = nlohmann::ordered_json::object();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNone;
}

inline double NumberOf(const nlohmann::ordered_json& object, std::string_view key) {
  const nlohmann::ordered_json& value = In(object, key);
  return value.is_number() ? value.get<double>() : 0;
}

inline int64_t CountOf(const nlohmann::ordered_json& object, std::string_view key) {
  const nlohmann::ordered_json& value = In(object, key);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

inline std::string TextOf(const nlohmann::ordered_json& object, std::string_view key) {
  const nlohmann::ordered_json& value = In(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace tritogen::report
