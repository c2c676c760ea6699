#include "report/html.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "base/utf8.h"

namespace tritogen::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Control characters, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069.
bool IsInvisible(std::string_view character) {
  if (character.size() == 1) {
    return (character[0] < 0x20 && character[0] != '\n' && character[0] != '\t') || character[0] == 0x7f;
  }
  if (character.size() == 2) return character[0] == '\xc2' && static_cast<uint8_t>(character[1]) < 0xa0;
  if (!character.starts_with("\xe2\x80") && !character.starts_with("\xe2\x81")) return false;
  const auto last = static_cast<uint8_t>(character[2]);
  if (character[1] == '\x81') return last >= 0xa6 && last <= 0xa9;
  return last == 0x8e || last == 0x8f || (last >= 0xa8 && last <= 0xae);
}

std::string Trimmed(std::string text) {
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string Escape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t bytes = Utf8CharacterBytes(text);
    const std::string_view character = text.substr(0, bytes);
    if (bytes == 0 || IsInvisible(character)) {
      out += kReplacement;
    } else if (character == "&") {
      out += "&amp;";
    } else if (character == "<") {
      out += "&lt;";
    } else if (character == ">") {
      out += "&gt;";
    } else if (character == "\"") {
      out += "&quot;";
    } else if (character == "'") {
      out += "&#39;";
    } else {
      out += character;
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

std::string PowerOfTen(int exponent) {
  static constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  if (exponent == 0) return "1";
  if (exponent == 1) return "10";
  std::string out = exponent < 0 ? "10⁻" : "10";
  for (char digit : std::to_string(std::abs(exponent))) out += kDigits[digit - '0'];
  return out;
}

std::string Digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

std::string Number(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (value == 0) return "0";
  if (value < 0) return "−" + Number(-value);
  if (value >= 0.01 && value < 10000) return Trimmed(Digits(value));
  int exponent = static_cast<int>(std::floor(std::log10(value)));
  double mantissa = value / std::pow(10.0, exponent);
  if (mantissa >= 9.95) {
    mantissa = 1;
    ++exponent;
  }
  return fmt::format("{:.1f} × {}", mantissa, PowerOfTen(exponent));
}

std::string Microseconds(double value) {
  return value < 1000 ? Digits(value) + " µs" : Digits(value / 1000) + " ms";
}

std::string WithPrefix(double value) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{} {}", Trimmed(Digits(value)), kPrefixes[prefix]);
}

}  // namespace tritogen::report
