#include "emit/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "base/python_tokens.h"

namespace tritogen {
namespace {

constexpr size_t kLineWidth = 100;

bool IsNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

// Lines with their line breaks; what a bracket or a string holds together is one.
std::vector<std::string_view> LogicalLines(std::string_view text) {
  std::vector<std::string_view> lines;
  const char* start = text.data();
  int depth = 0;
  for (const PythonToken& token : PythonTokens(text)) {
    if (token.kind != PythonToken::Kind::kOther) continue;
    const char c = token.text[0];
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (c != '\n' || depth > 0) continue;
    const char* end = token.text.data() + 1;
    lines.emplace_back(start, end - start);
    start = end;
  }
  const char* end = text.data() + text.size();
  if (start < end) lines.emplace_back(start, end - start);
  return lines;
}

}  // namespace

std::string PythonDtype(Dtype dtype) {
  return fmt::format("torch.{}", DtypeName(dtype));
}

std::string PythonString(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

std::string PythonFloat(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  return fmt::format("{}", value).find_first_of(".e") == std::string::npos ? fmt::format("{}.0", value)
                                                                           : fmt::format("{}", value);
}

std::string PythonTuple(const std::vector<int64_t>& values) {
  return fmt::format("({}{})", fmt::join(values, ", "), values.size() == 1 ? "," : "");
}

std::string PythonTupleOf(const std::vector<std::string>& items) {
  return fmt::format("({}{})", fmt::join(items, ", "), items.size() == 1 ? "," : "");
}

std::string PythonTupleOfLines(const std::vector<std::string>& items) {
  if (items.empty()) return "()";
  std::string text = "(\n";
  for (const std::string& item : items) text += fmt::format("    {},\n", item);
  return text + ")";
}

std::string RenameIdentifier(std::string_view source, std::string_view from, std::string_view to) {
  std::string out;
  char before = '\n';  // last character that is not a blank
  for (const PythonToken& token : PythonTokens(source)) {
    const bool rename = token.kind == PythonToken::Kind::kName && token.text == from && before != '.';
    out += rename ? to : token.text;
    if (token.text[0] != ' ' && token.text[0] != '\t') before = token.text.back();
  }
  return out;
}

std::string HoistFutures(std::string_view source, std::vector<std::string>* futures) {
  std::string out;
  for (std::string_view line : Lines(source)) {
    if (line.starts_with("from __future__ ")) {
      futures->emplace_back(line);
    } else {
      out.append(line).append("\n");
    }
  }
  return out;
}

std::vector<std::string> TopLevelStatements(std::string_view source) {
  static const std::set<std::string_view> kContinues = {"elif", "else", "except", "finally"};
  std::vector<std::string> statements;
  bool decorated = false;  // the function that a decorator stands before is still to come
  for (std::string_view line : LogicalLines(source)) {
    if (!IsNameStart(line[0]) && line[0] != '@') {  // indented, blank, a comment
      if (!statements.empty() && line[0] != '#') statements.back() += line;
      continue;
    }
    const std::string_view word = line.substr(0, line.find_first_of(" :(\n"));
    if (statements.empty() || !(decorated || kContinues.count(word))) statements.emplace_back();
    statements.back() += line;
    decorated = line[0] == '@';
  }
  for (std::string& statement : statements) statement.erase(statement.find_last_not_of('\n') + 1);
  return statements;
}

std::string WithoutChoosers(std::string_view kernel_source) {
  const std::vector<std::string_view> lines = Lines(kernel_source);
  size_t first = 0;
  for (size_t i = 0; i < lines.size() && !lines[i].starts_with("def "); ++i) {
    if (lines[i].starts_with("@") && lines[i].find("jit") != std::string_view::npos) first = i;
  }
  std::string out;
  for (size_t i = first; i < lines.size(); ++i) out.append(lines[i]).append("\n");
  return out;
}

std::string FormatCall(std::string_view head, const std::vector<std::string>& arguments, int indent) {
  std::string one_line = fmt::format("{}({})", head, fmt::join(arguments, ", "));
  if (indent + one_line.size() <= kLineWidth && one_line.find('\n') == std::string::npos) return one_line;
  std::string out = fmt::format("{}(\n", head);
  for (const std::string& argument : arguments) out += fmt::format("{:{}}{},\n", "", indent + 4, argument);
  return out + fmt::format("{:{}})", "", indent);
}

}  // namespace tritogen
