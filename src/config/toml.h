// Options from TOML files, and back as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "config/fields.h"

namespace tritogen::config {

// Reads TOML into what `description` describes. A file that says `like = "other.toml"` (beside it) is read
// after that one: it says what is different, and its lists take the place of the other's. Throws UserError
// with file and line for text that is no TOML, keys that are not described (with the nearest that is), values
// of another type or out of their range.
void ReadToml(std::string_view text, const std::string& file, const Fields::Description& description);

// All fields with their present values, defaults among them: equal options give equal JSON.
nlohmann::ordered_json WriteJson(const Fields::Description& description);

}  // namespace tritogen::config
