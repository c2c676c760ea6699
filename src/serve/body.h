// The JSON object of a request, read field by field. A field that is null is absent. Whatever is wrong is an
// ApiError that names the field; a field that nobody asked for is one, too. Keys keep their order, which chat
// templates show to the model.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "serve/api_error.h"

namespace tritogen::serve {

class Body {
 public:
  explicit Body(std::string_view text);
  // A part of a body; `path` is its name there.
  Body(nlohmann::ordered_json object, std::string path);

  // Null when there is none. The pointer is good as long as this lives.
  const nlohmann::ordered_json* Find(const std::string& name);
  bool Bool(const std::string& name, bool otherwise);
  std::optional<int64_t> Int(const std::string& name, int64_t low, int64_t high);
  std::optional<double> Number(const std::string& name, double low, double high);
  // Above 0 and at most `high`, as a float too.
  std::optional<double> Positive(const std::string& name, double high = std::numeric_limits<float>::max());
  std::optional<std::string> String(const std::string& name);
  std::optional<Body> Object(const std::string& name);

  // Fields that change nothing about the result.
  void Ignore(std::initializer_list<const char*> names);
  // A field that would change the result if it were not this value (or empty), and which we do not have.
  void Only(const std::string& name, const nlohmann::ordered_json& value, const std::string& why);
  // Refuses what is left. Call it last.
  void Finish() const;

  [[noreturn]] void Fail(const std::string& name, const std::string& what) const;
  std::string Path(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

 private:
  nlohmann::ordered_json object_;
  std::string path_;
  std::set<std::string> known_;
};

}  // namespace tritogen::serve
