// Validators of numbers: CLI11's own of these kinds spell out the greatest double when they refuse one.
#pragma once

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace tritogen {

inline CLI::Validator NumberThat(std::string name, std::string what, std::function<bool(double)> holds) {
  const auto check = [what = std::move(what),
                      holds = std::move(holds)](const std::string& text) -> std::string {
    double value = 0;
    if (!CLI::detail::lexical_cast(text, value) || !holds(value)) return "'" + text + "' is " + what;
    return "";
  };
  return CLI::Validator([check](std::string& text) { return check(text); }, std::move(name));
}

inline const CLI::Validator kPositive =
    NumberThat("POSITIVE", "no number above 0", [](double x) { return x > 0 && std::isfinite(x); });
inline const CLI::Validator kNonNegative =
    NumberThat("NONNEGATIVE", "no number of 0 or more", [](double x) { return x >= 0 && std::isfinite(x); });
// Clocks count nanoseconds in 64 bits, which are 292 years.
inline const CLI::Validator kSeconds = NumberThat("POSITIVE", "no number of seconds above 0 and up to 1e9",
                                                  [](double x) { return x > 0 && x <= 1e9; });

// CLI::Range takes "nan".
inline CLI::Validator NumberIn(double least, double most) {
  const std::string range = fmt::format("{:g} - {:g}", least, most);
  return NumberThat("FLOAT in [" + range + "]", "not in range " + range,
                    [=](double x) { return x >= least && x <= most; });
}

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
