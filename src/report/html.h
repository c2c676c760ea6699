// Text that is safe inside a page, and numbers as people read them.
#pragma once

#include <string>
#include <string_view>

namespace tritogen::report {

// Hostile text for the inside of an element or a quoted attribute. Malformed UTF-8 and characters that a
// reader cannot see (control characters, those that turn the writing direction) become U+FFFD.
std::string Escape(std::string_view text);

// Three digits: "0", "12.3", "4.5 × 10⁻⁴".
std::string Number(double value);
// The same with zeros at its end, for figures that stand beside each other: "12.0".
std::string Digits(double value);
// "3.10 µs", "12.3 ms".
std::string Microseconds(double value);
// With an SI prefix: "51.2 T", "4.8 G".
std::string WithPrefix(double value);
// "10⁻⁴"
std::string PowerOfTen(int exponent);

}  // namespace tritogen::report
