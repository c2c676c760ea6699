// Validators of numbers: CLI11's own of these kinds spell out the greatest double when they refuse one.
#pragma once

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <string>

namespace tritogen {

inline CLI::Validator NumberThat(const char* name, const char* what, bool (*holds)(double)) {
  const auto check = [what, holds](const std::string& text) -> std::string {
    double value = 0;
    if (!CLI::detail::lexical_cast(text, value) || !holds(value)) return "'" + text + "' is " + what;
    return "";
  };
  return CLI::Validator([check](std::string& text) { return check(text); }, name);
}

inline const CLI::Validator kPositive =
    NumberThat("POSITIVE", "no number above 0", [](double x) { return x > 0; });
inline const CLI::Validator kNonNegative =
    NumberThat("NONNEGATIVE", "no number of 0 or more", [](double x) { return x >= 0; });

// 64 bits without a sign. CLI11 reads by strtoull, which takes -1, and numbers too great, for 2^64 - 1.
inline const CLI::Validator kSeed(
    [](std::string& text) -> std::string {
      uint64_t value = 0;
      const char* const end = text.data() + text.size();
      const auto [past, error] = std::from_chars(text.data(), end, value);
      if (error == std::errc() && past == end) return "";
      return "'" + text + "' is no integer from 0 to 18446744073709551615";
    },
    "SEED");

}  // namespace tritogen
