#include "serve/body.h"

#include <limits>

#include "base/json_text.h"
#include "base/utf8.h"

namespace tritogen::serve {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t kMostShownBytes = 200;  // of what a client sent, in a message to it

json Parse(std::string_view text) {
  try {
    return ParseJsonInOrder(text);
  } catch (const FormatError& error) {
    throw ApiError(400, fmt::format("the body cannot be read: {}", error.what()), "", "invalid_json");
  }
}

}  // namespace

Body::Body(std::string_view text) : Body(Parse(text), "") {}

Body::Body(json object, std::string path) : object_(std::move(object)), path_(std::move(path)) {
  if (!object_.is_object()) {
    const std::string what = fmt::format("expected a JSON object, got {}", object_.type_name());
    throw ApiError(400, path_.empty() ? what : path_ + ": " + what, path_);
  }
}

void Body::Fail(const std::string& name, const std::string& what) const {
  const std::string shown = PrintableText(Path(name), kMostShownBytes);
  throw ApiError(400, fmt::format("{}: {}", shown, what), shown);
}

const json* Body::Find(const std::string& name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool Body::Bool(const std::string& name, bool otherwise) {
  const json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) Fail(name, fmt::format("expected true or false, got {}", value->type_name()));
  return value->get<bool>();
}

std::optional<int64_t> Body::Int(const std::string& name, int64_t low, int64_t high) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_integer()) {
    // "got number" would not tell what is wrong with 1.5, nor with more than 64 bits.
    Fail(name,
         fmt::format("expected an integer, got {}", value->is_number() ? value->dump() : value->type_name()));
  }
  const bool too_great = value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{INT64_MAX};
  if (too_great || value->get<int64_t>() < low || value->get<int64_t>() > high) {
    Fail(name, fmt::format("{} is outside [{}, {}]", value->dump(), low, high));
  }
  return value->get<int64_t>();
}

std::optional<double> Body::Number(const std::string& name, double low, double high) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) Fail(name, fmt::format("expected a number, got {}", value->type_name()));
  const double number = value->get<double>();
  if (!(number >= low && number <= high)) {
    Fail(name, fmt::format("{} is outside [{}, {}]", value->dump(), low, high));
  }
  return number;
}

std::optional<double> Body::Positive(const std::string& name, double high) {
  const auto number = Number(name, -std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
  if (number && (*number < std::numeric_limits<float>::min() || *number > high))
    Fail(name, fmt::format("{} is outside (0, {:.3g}]", *number, high));
  return number;
}

std::optional<std::string> Body::String(const std::string& name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) Fail(name, fmt::format("expected a string, got {}", value->type_name()));
  return value->get<std::string>();
}

std::optional<Body> Body::Object(const std::string& name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  return Body(*value, Path(name));
}

void Body::Ignore(std::initializer_list<const char*> names) {
  for (const char* name : names) known_.insert(name);
}

void Body::Only(const std::string& name, const json& value, const std::string& why) {
  const json* found = Find(name);
  if (found == nullptr || *found == value) return;
  if ((found->is_array() || found->is_object()) && found->empty()) return;
  Fail(name, why);
}

void Body::Finish() const {
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name)) continue;
    const std::string shown = PrintableText(Path(name), kMostShownBytes);
    throw ApiError(400, fmt::format("{}: this server knows no such parameter", shown), shown,
                   "unknown_parameter");
  }
}

}  // namespace tritogen::serve
