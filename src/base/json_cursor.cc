#include "base/json_cursor.h"

#include <algorithm>

#include "base/error.h"

namespace tritogen {

std::string JsonCursor::path() const {
  if (!parent_) return "";
  std::string prefix = parent_->path();
  if (key_.empty()) return fmt::format("{}[{}]", prefix, index_);
  return prefix.empty() ? std::string(key_) : fmt::format("{}.{}", prefix, key_);
}

void JsonCursor::Fail(std::string_view what) const {
  std::string where = path();
  throw FormatError(where.empty() ? std::string(what) : fmt::format("{}: {}", where, what));
}

JsonCursor JsonCursor::operator[](std::string_view key) const {
  ExpectObject();
  auto found = json_.find(key);
  if (found == json_.end()) Fail(fmt::format("key '{}' is missing", key));
  return JsonCursor(*found, this, key, 0);
}

JsonCursor JsonCursor::operator[](size_t index) const {
  TRITOGEN_CHECK(json_.is_array() && index < json_.size());
  return JsonCursor(json_[index], this, {}, index);
}

bool JsonCursor::Has(std::string_view key) const {
  return json_.is_object() && json_.contains(key);
}

size_t JsonCursor::Size(size_t limit) const {
  if (!json_.is_array()) Fail(fmt::format("expected an array, got {}", json_.type_name()));
  if (json_.size() > limit) Fail(fmt::format("{} elements, at most {} are allowed", json_.size(), limit));
  return json_.size();
}

int64_t JsonCursor::Int(int64_t low, int64_t high) const {
  if (!json_.is_number_integer()) Fail(fmt::format("expected an integer, got {}", json_.type_name()));
  if (json_.is_number_unsigned() && json_.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    Fail("the integer does not fit 64 signed bits");
  }
  int64_t value = json_.get<int64_t>();
  if (value < low || value > high) Fail(fmt::format("{} is outside [{}, {}]", value, low, high));
  return value;
}

bool JsonCursor::Bool() const {
  if (!json_.is_boolean()) Fail(fmt::format("expected a boolean, got {}", json_.type_name()));
  return json_.get<bool>();
}

const std::string& JsonCursor::String(size_t max_bytes) const {
  if (!json_.is_string()) Fail(fmt::format("expected a string, got {}", json_.type_name()));
  const auto& text = json_.get_ref<const std::string&>();
  if (text.size() > max_bytes)
    Fail(fmt::format("a string of {} bytes, at most {} are allowed", text.size(), max_bytes));
  return text;
}

void JsonCursor::ExpectArray(size_t exact_size) const {
  size_t size = Size(std::numeric_limits<size_t>::max());
  if (size != exact_size) Fail(fmt::format("expected {} elements, got {}", exact_size, size));
}

void JsonCursor::ExpectObject() const {
  if (!json_.is_object()) Fail(fmt::format("expected a map, got {}", json_.type_name()));
}

void JsonCursor::ExpectKeys(std::initializer_list<std::string_view> allowed) const {
  ExpectObject();
  for (const auto& [key, value] : json_.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      Fail(fmt::format("unknown key '{}'", key.substr(0, 64)));
    }
  }
}

}  // namespace tritogen
