#include "emit/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

namespace tritogen {
namespace {

constexpr size_t kLineWidth = 100;

bool IsNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Position after the string literal that starts at `i` (at its quote).
size_t SkipString(std::string_view text, size_t i) {
  const char quote = text[i];
  const bool triple = text.substr(i, 3) == std::string(3, quote);
  i += triple ? 3 : 1;
  while (i < text.size()) {
    if (text[i] == '\\') {
      i += 2;
    } else if (triple ? text.substr(i, 3) == std::string(3, quote) : text[i] == quote) {
      return i + (triple ? 3 : 1);
    } else if (!triple && text[i] == '\n') {
      return i;  // unterminated: Python would have refused it
    } else {
      ++i;
    }
  }
  return text.size();
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
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '"' || c == '\'') {
      i = std::min(SkipString(text, i), text.size());
      continue;
    }
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    i += c == '\\' ? 2 : 1;
    if (c == '\n' && depth <= 0) {
      lines.push_back(text.substr(start, i - start));
      start = i;
    }
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

}  // namespace

std::string PythonDtype(Dtype dtype) {
  return fmt::format("torch.{}", DtypeName(dtype));
}

std::string TritonDtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool:
      return "tl.int1";
    case Dtype::kFloat8E4M3:
      return "tl.float8e4nv";
    case Dtype::kFloat8E5M2:
      return "tl.float8e5";
    default:
      return fmt::format("tl.{}", DtypeName(dtype));
  }
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

std::string StateExpression(std::string_view name) {
  std::string out = "self";
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    const bool number =
        std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
    out += number ? fmt::format("[{}]", part) : fmt::format(".{}", part);
  }
  return out;
}

std::string RenameIdentifier(std::string_view source, std::string_view from, std::string_view to) {
  std::string out;
  char before = '\n';  // last character that is not a blank
  for (size_t i = 0; i < source.size();) {
    size_t end = i + 1;
    const char c = source[i];
    if (c == '#') {
      end = std::min(source.find('\n', i), source.size());
    } else if (c == '"' || c == '\'') {
      end = SkipString(source, i);
    } else if (IsNameStart(c)) {
      while (end < source.size() && IsNameChar(source[end])) ++end;
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      while (end < source.size() && (IsNameChar(source[end]) || source[end] == '.')) ++end;
    }
    end = std::min(end, source.size());
    const std::string_view token = source.substr(i, end - i);
    out += token == from && before != '.' ? to : token;
    if (c != ' ' && c != '\t') before = source[end - 1];
    i = end;
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
