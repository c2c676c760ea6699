#include "report/highlight.h"

#include <fmt/format.h>

#include <set>

#include "base/python_tokens.h"
#include "report/html.h"

namespace tritogen::report {
namespace {

const char* ClassOf(const PythonToken& token) {
  static const std::set<std::string_view> kKeywords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "for",      "finally",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  switch (token.kind) {
    case PythonToken::Kind::kComment:
      return "comment";
    case PythonToken::Kind::kString:
      return "string";
    case PythonToken::Kind::kNumber:
      return "number";
    case PythonToken::Kind::kName:
      return kKeywords.count(token.text) ? "keyword" : nullptr;
    case PythonToken::Kind::kOther:
      return nullptr;
  }
  return nullptr;
}

// Writes text line by line, each in a span of its own.
class LineWriter {
 public:
  explicit LineWriter(int marked_line) : marked_line_(marked_line) { Open(); }

  void Add(std::string_view text, const char* css_class) {
    while (true) {
      const size_t end = text.find('\n');
      const std::string part = Escape(text.substr(0, end));
      out_ += css_class == nullptr || part.empty() ? part
                                                   : fmt::format("<i class=\"{}\">{}</i>", css_class, part);
      if (end == std::string_view::npos) return;
      out_ += "\n</span>";
      Open();
      text.remove_prefix(end + 1);
    }
  }
  std::string Finish() && { return std::move(out_) + "\n</span>"; }

 private:
  void Open() { out_ += ++line_ == marked_line_ ? "<span class=\"line marked\">" : "<span class=\"line\">"; }

  std::string out_;
  int marked_line_, line_ = 0;
};

}  // namespace

std::string HighlightPython(std::string_view source, int marked_line) {
  while (source.ends_with('\n')) source.remove_suffix(1);
  LineWriter writer(marked_line);
  for (const PythonToken& token : PythonTokens(source)) writer.Add(token.text, ClassOf(token));
  return std::move(writer).Finish();
}

}  // namespace tritogen::report
