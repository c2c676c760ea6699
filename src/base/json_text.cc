#include "base/json_text.h"

#include <set>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

constexpr int kMaxDepth = 64;

// Brackets outside strings, before the parser allocates anything.
void CheckDepth(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) throw FormatError(fmt::format("JSON nested more than {} deep", kMaxDepth));
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

// The parser's own message, without its name and number.
std::string Reason(const nlohmann::json::parse_error& error) {
  std::string_view what = error.what();
  if (const size_t at = what.find("] "); at != what.npos) what.remove_prefix(at + 2);
  return PrintableText(what, 300);
}

auto NamingFaults(const auto& parse) {
  try {
    return parse();
  } catch (const nlohmann::json::parse_error& error) {
    throw FormatError(fmt::format("not JSON: {}", Reason(error)));
  } catch (const nlohmann::json::out_of_range& error) {  // a number that no double holds
    throw FormatError("not JSON: a number out of range");
  }
}

}  // namespace

nlohmann::json ParseJson(std::string_view text, DuplicateKeys duplicates) {
  CheckDepth(text);
  std::vector<std::set<std::string>> keys;
  const auto refuse = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(value.get<std::string>()).second) {
      throw FormatError(fmt::format("key '{}' occurs twice", PrintableText(value.get<std::string>(), 100)));
    }
    return true;
  };
  return NamingFaults([&] {
    return duplicates == DuplicateKeys::kRefuse ? nlohmann::json::parse(text, refuse)
                                                : nlohmann::json::parse(text);
  });
}

nlohmann::ordered_json ParseJsonInOrder(std::string_view text) {
  CheckDepth(text);
  std::vector<size_t> keys;  // of the objects around the place
  const auto count = [&](int, nlohmann::ordered_json::parse_event_t event, nlohmann::ordered_json&) {
    using Event = nlohmann::ordered_json::parse_event_t;
    if (event == Event::object_start) keys.push_back(0);
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && ++keys.back() > kMostKeysInOrder)
      throw FormatError(fmt::format("an object with more than {} keys", kMostKeysInOrder));
    return true;
  };
  return NamingFaults([&] { return nlohmann::ordered_json::parse(text, count); });
}

}  // namespace tritogen
