#include "program/literal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/overloaded.h"
#include "base/text.h"

namespace tritogen {
namespace {

constexpr int kMostNesting = 4;

// Reads one literal from the front of `text`, by recursive descent.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Arg> ReadAll() {
    auto arg = Read(0);
    Blanks();
    return arg && text_.empty() ? arg : std::nullopt;
  }

 private:
  void Blanks() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  bool Take(std::string_view word) {
    Blanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  std::optional<Arg> Read(int depth) {
    Blanks();
    if (Take("None")) return Arg{};
    if (Take("True")) return Arg{true};
    if (Take("False")) return Arg{false};
    if (Take("float(")) {
      auto inner = ReadString();
      if (!inner || !Take(")")) return std::nullopt;
      return Special(*inner);
    }
    if (Take("torch.")) return ReadDtype();
    if (text_.starts_with('"') || text_.starts_with('\'')) {
      auto string = ReadString();
      return string ? std::optional(Arg{*string}) : std::nullopt;
    }
    if (text_.starts_with('[') || text_.starts_with('(')) return ReadList(depth);
    return ReadNumber();
  }

  static std::optional<Arg> Special(const std::string& word) {
    if (word == "inf") return Arg{HUGE_VAL};
    if (word == "-inf") return Arg{-HUGE_VAL};
    if (word == "nan") return Arg{std::nan("")};
    return std::nullopt;
  }

  std::optional<Arg> ReadDtype() {
    size_t n = 0;
    while (n < text_.size() && IsWordByte(text_[n])) ++n;
    auto dtype = DtypeFromName(text_.substr(0, n));
    text_.remove_prefix(n);
    return dtype ? std::optional(Arg{*dtype}) : std::nullopt;
  }

  std::optional<std::string> ReadString() {
    if (text_.empty() || (text_.front() != '"' && text_.front() != '\'')) return std::nullopt;
    const char quote = text_.front();
    std::string value;
    for (size_t i = 1; i < text_.size(); ++i) {
      if (text_[i] == '\\' && i + 1 < text_.size()) {
        const char c = text_[++i];
        value += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      } else if (text_[i] == quote) {
        text_.remove_prefix(i + 1);
        return value;
      } else {
        value += text_[i];
      }
    }
    return std::nullopt;
  }

  std::optional<Arg> ReadList(int depth) {
    if (depth >= kMostNesting) return std::nullopt;
    const char close = text_.front() == '[' ? ']' : ')';
    text_.remove_prefix(1);
    Arg::List list;
    while (!Take(std::string_view(&close, 1))) {
      auto item = Read(depth + 1);
      if (!item) return std::nullopt;
      list.push_back(std::move(*item));
      if (Take(",")) continue;
      if (!Take(std::string_view(&close, 1))) return std::nullopt;
      break;
    }
    return Arg{std::move(list)};
  }

  std::optional<Arg> ReadNumber() {
    size_t n = 0;
    while (n < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[n])) || text_[n] == '.' ||
                                text_[n] == 'e' || text_[n] == '-' || text_[n] == '+'))
      ++n;
    const char* begin = text_.data();
    const char* end = begin + n;
    text_.remove_prefix(n);
    int64_t integer = 0;
    auto read = std::from_chars(begin, end, integer);
    if (read.ec == std::errc() && read.ptr == end) return Arg{integer};
    double number = 0;
    auto real = std::from_chars(begin, end, number);
    if (real.ec == std::errc() && real.ptr == end) return Arg{number};
    return std::nullopt;
  }

  std::string_view text_;
};

std::string QuotedText(const std::string& v) {
  std::string text = "\"";
  for (char c : v) {
    const char* escaped = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : nullptr;
    if (escaped != nullptr) {
      text += escaped;
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string NumberText(double v) {
  if (std::isnan(v)) return "float(\"nan\")";
  if (std::isinf(v)) return v > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::string text = fmt::format("{}", v);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::optional<Arg> ReadLiteral(std::string_view text) {
  return Reader(text).ReadAll();
}

Arg ParseLiteral(std::string_view text) {
  auto arg = ReadLiteral(text);
  TRITOGEN_CHECK(arg.has_value());
  return *arg;
}

std::string PythonTensor(std::span<const uint8_t> bytes, Dtype dtype) {
  return fmt::format("torch.frombuffer(bytearray.fromhex(\"{:02x}\"), dtype=torch.{})", fmt::join(bytes, ""),
                     DtypeName(dtype));
}

std::string PythonLiteral(const Arg& arg) {
  return std::visit(Overloaded{
                        [](std::monostate) -> std::string { return "None"; },
                        [](bool v) -> std::string { return v ? "True" : "False"; },
                        [](int64_t v) { return fmt::format("{}", v); },
                        [](double v) { return NumberText(v); },
                        [](const std::string& v) { return QuotedText(v); },
                        [](NodeRef) -> std::string { throw InternalError("a literal names no node"); },
                        [](Dtype v) { return fmt::format("torch.{}", DtypeName(v)); },
                        [](const Arg::List& list) {
                          std::string text = "[";
                          for (const Arg& item : list)
                            text += (text.size() > 1 ? ", " : "") + PythonLiteral(item);
                          return text + "]";
                        },
                    },
                    arg.v);
}

std::optional<double> AsNumber(const Arg& arg) {
  if (auto* v = std::get_if<double>(&arg.v)) return *v;
  if (auto* v = std::get_if<int64_t>(&arg.v)) return static_cast<double>(*v);
  return std::nullopt;
}

std::optional<int64_t> AsInt(const Arg& arg) {
  if (auto* v = std::get_if<int64_t>(&arg.v)) return *v;
  return std::nullopt;
}

bool AsBool(const Arg& arg, bool otherwise) {
  if (auto* v = std::get_if<bool>(&arg.v)) return *v;
  if (auto* v = std::get_if<int64_t>(&arg.v)) return *v != 0;
  return otherwise;
}

bool IsNone(const Arg& arg) {
  return std::holds_alternative<std::monostate>(arg.v);
}

const NodeRef* AsRef(const Arg& arg) {
  return std::get_if<NodeRef>(&arg.v);
}

const Arg::List* AsList(const Arg& arg) {
  return std::get_if<Arg::List>(&arg.v);
}

std::optional<std::vector<int64_t>> AsInts(const Arg& arg) {
  if (auto v = AsInt(arg)) return std::vector<int64_t>{*v};
  auto* list = AsList(arg);
  if (list == nullptr) return std::nullopt;
  std::vector<int64_t> values;
  for (const Arg& item : *list) {
    auto v = AsInt(item);
    if (!v) return std::nullopt;
    values.push_back(*v);
  }
  return values;
}

Arg IntsArg(const std::vector<int64_t>& values) {
  Arg::List list;
  for (int64_t value : values) list.push_back({value});
  return {std::move(list)};
}

}  // namespace tritogen
