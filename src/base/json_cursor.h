// JsonCursor: a place inside hostile JSON (or MessagePack) that knows its own path. Every getter checks the
// type and the range and throws FormatError with the path ("run[3].args[1]: expected an integer, got a
// string"). Cursors form a chain on the stack: a child must not outlive its parent, and none may outlive the
// JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

namespace tritogen {

class JsonCursor {
 public:
  explicit JsonCursor(const nlohmann::json& root) : json_(root) {}

  const nlohmann::json& json() const { return json_; }
  std::string path() const;
  [[noreturn]] void Fail(std::string_view what) const;

  // Member of an object; missing is an error.
  JsonCursor operator[](std::string_view key) const;
  // Element of an array; REQUIRES: index < Size().
  JsonCursor operator[](size_t index) const;
  bool Has(std::string_view key) const;

  size_t Size(size_t limit) const;  // of an array with at most `limit` elements
  int64_t Int(int64_t low = std::numeric_limits<int64_t>::min(),
              int64_t high = std::numeric_limits<int64_t>::max()) const;
  bool Bool() const;
  const std::string& String(size_t max_bytes) const;
  void ExpectArray(size_t exact_size) const;
  void ExpectObject() const;
  // An object with no keys but these.
  void ExpectKeys(std::initializer_list<std::string_view> allowed) const;

 private:
  JsonCursor(const nlohmann::json& json, const JsonCursor* parent, std::string_view key, size_t index)
      : json_(json), parent_(parent), key_(key), index_(index) {}

  const nlohmann::json& json_;
  const JsonCursor* parent_ = nullptr;
  std::string_view key_;  // empty: an array element
  size_t index_ = 0;
};

}  // namespace tritogen
