// JSON text from outside, parsed with limits.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace tritogen {

enum class DuplicateKeys { kLastWins, kRefuse };

// Throws FormatError for what is no JSON (where and why), for more than 64 levels of nesting (values that
// deep overflow the stack of whoever walks them), and for a key that occurs twice in one object when asked
// to.
nlohmann::json ParseJson(std::string_view text, DuplicateKeys duplicates = DuplicateKeys::kLastWins);

// The same, with the keys of objects in the order of the text. They are looked up one by one, so an object
// with more than kMostKeysInOrder of them is refused: its reading would take quadratic time.
nlohmann::ordered_json ParseJsonInOrder(std::string_view text);
inline constexpr size_t kMostKeysInOrder = 512;

}  // namespace tritogen
