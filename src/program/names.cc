#include "program/names.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

#include "base/text.h"

namespace tritogen {
namespace {

constexpr std::array kKeywords = {"False",  "None",   "True",   "and",      "as",       "assert", "async",
                                  "await",  "break",  "class",  "continue", "def",      "del",    "elif",
                                  "else",   "except", "for",    "from",     "finally",  "global", "if",
                                  "import", "in",     "is",     "lambda",   "nonlocal", "not",    "or",
                                  "pass",   "raise",  "return", "try",      "while",    "with",   "yield"};

}  // namespace

NameTable::NameTable(std::initializer_list<std::string_view> reserved) {
  for (std::string_view name : reserved) used_.emplace(name);
}

std::string NameTable::Unique(std::string_view wish) {
  std::string base = PythonIdentifier(wish);
  static const std::unordered_set<std::string_view> keywords(kKeywords.begin(), kKeywords.end());
  if (!keywords.contains(base) && used_.insert(base).second) return base;
  int& number = numbers_[base];
  std::string name;
  do {
    name = fmt::format("{}_{}", base, ++number);
  } while (!used_.insert(name).second);
  return name;
}

std::string NameTable::Next(std::string_view name) {
  constexpr size_t kDigits = 6;  // longer ones are part of the name
  const size_t last = name.find_last_not_of("0123456789");
  const std::string_view digits = name.substr(last + 1);
  int number = 0;
  if (name[last] == '_' && !digits.empty() && digits.size() <= kDigits) {
    number = std::stoi(std::string(digits));
    name = name.substr(0, last);
  }
  std::string next;
  do {
    next = fmt::format("{}_{}", name, ++number);
  } while (!used_.insert(next).second);
  return next;
}

std::string PythonIdentifier(std::string_view wish) {
  std::string name;
  for (char c : wish) name += IsWordByte(c) ? c : '_';
  while (!name.empty() && name.front() == '_') name.erase(name.begin());
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty()) return "value";
  if (std::isdigit(static_cast<unsigned char>(name.front()))) name = 'p' + name;
  return name;
}

}  // namespace tritogen
