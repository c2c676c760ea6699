#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/split_regex.h"

#include <pcre2.h>

#include <span>

#include "base/error.h"
#include "base/utf8.h"
#include "text/unicode_additions.h"

namespace tritogen {
namespace {

constexpr size_t kMaxPattern = 4096;
constexpr size_t kJitStackStart = size_t{32} << 10, kJitStackMax = size_t{8} << 20;

std::string Ranges(std::span<const CodePointRange> ranges) {
  std::string out;
  for (const auto& [low, high] : ranges) {
    out += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", static_cast<uint32_t>(low), static_cast<uint32_t>(high));
  }
  return out;
}

// Reads a pattern once, left to right; every construct is known or refused.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : rest_(pattern) {}

  std::string Run() {
    while (!rest_.empty()) Item();
    return std::move(out_);
  }

 private:
  [[noreturn]] void Refuse(std::string_view what) const {
    throw FormatError(fmt::format("a regular expression with {}, which is not supported", what));
  }

  char Take() {
    if (rest_.empty()) Refuse("an end where something must follow");
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  bool TakeIf(std::string_view prefix) {
    if (!rest_.starts_with(prefix)) return false;
    rest_.remove_prefix(prefix.size());
    out_ += prefix;
    return true;
  }

  void Item() {
    const char c = Take();
    switch (c) {
      case '\\':
        return Escape(/*in_class=*/false);
      case '[':
        return Class();
      case '(':
        return Group();
      case '{':
        return Repeat();
      case '^':
      case '$':
        Refuse("an anchor");
      case '.':
        Refuse("'.'");
      default:
        out_ += c;  // literals and ) | ? * +, which both dialects read alike
    }
  }

  void Group() {
    out_ += '(';
    if (!rest_.starts_with('?')) return;
    for (const std::string_view known : {"?:", "?i:", "?=", "?!", "?>"}) {
      if (TakeIf(known)) return;
    }
    Refuse("a group of another kind than (…), (?:…), (?i:…), (?=…), (?!…), (?>…)");
  }

  void Repeat() {  // {2}, {2,} or {2,3}; "{…}+" means other things in the two dialects
    const size_t close = rest_.find('}');
    if (close == 0 || close > 12 || rest_.substr(0, close).find_first_not_of("0123456789,") != rest_.npos ||
        rest_[0] == ',') {
      Refuse("a '{' that begins no count");
    }
    out_ += '{';
    out_ += rest_.substr(0, close + 1);
    rest_.remove_prefix(close + 1);
    if (rest_.starts_with('+')) Refuse("'+' behind a count");
  }

  void Class() {
    out_ += '[';
    TakeIf("^");
    if (rest_.starts_with(']')) Refuse("an empty class");
    for (;;) {
      const char c = Take();
      if (c == '[' || rest_.starts_with("&&")) Refuse("a class within a class");
      if (c == '\\') {
        Escape(/*in_class=*/true);
      } else {
        out_ += c;
        if (c == ']') return;
      }
    }
  }

  void Escape(bool in_class) {
    const char c = Take();
    switch (c) {
      case 's':
        out_ += "\\p{WSpace}";
        return;  // PCRE2's own \s has U+180E, too
      case 'S':
        out_ += "\\P{WSpace}";
        return;
      case 'd':
        out_ += "\\p{Nd}";
        return;
      case 'p':
      case 'P':
        return Property(c == 'P', in_class);
      case 'r':
      case 'n':
      case 't':
      case 'f':
      case 'v':
        break;
      default:
        // \x0b is what Oniguruma's \v means; letters and digits else are not the same in both dialects.
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80)) {
          Refuse(fmt::format("the escape \\{}", c & 0x80 ? '?' : c));
        }
    }
    if (c == 'v') {
      out_ += "\\x0b";
    } else {
      out_ += '\\';
      out_ += c;
    }
  }

  void Property(bool negated, bool in_class) {
    const size_t close = rest_.starts_with('{') ? rest_.find('}') : rest_.npos;
    if (close == rest_.npos || close > 40) Refuse("\\p without a name in braces");
    std::string_view name = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    if (name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") != name.npos) {
      Refuse("a property whose name is not made of letters");
    }
    const std::string ranges = name == "L" ? Ranges(kNewLetters) : name == "N" ? Ranges(kNewNumbers) : "";
    if (ranges.empty()) {
      out_ += fmt::format("\\{}{{{}}}", negated ? 'P' : 'p', name);
    } else if (in_class) {
      if (negated) Refuse("\\P{L} or \\P{N} within a class");
      out_ += fmt::format("\\p{{{}}}{}", name, ranges);
    } else {
      out_ += fmt::format("[{}\\p{{{}}}{}]", negated ? "^" : "", name, ranges);
    }
  }

  std::string_view rest_;
  std::string out_;
};

std::string ErrorText(int code) {
  PCRE2_UCHAR text[200];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

std::string TranslateRegex(std::string_view pattern) {
  if (pattern.size() > kMaxPattern || !IsUtf8(pattern)) {
    throw FormatError(fmt::format("a regular expression longer than {} bytes, or not UTF-8", kMaxPattern));
  }
  return Translator(pattern).Run();
}

struct SplitRegex::Code {
  ~Code() { pcre2_code_free(code); }
  pcre2_code* code = nullptr;
  bool jit = false;
};

SplitRegex::SplitRegex(std::string_view pattern) : code_(std::make_unique<Code>()) {
  const std::string translated = TranslateRegex(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (!code_->code) throw FormatError(fmt::format("a malformed regular expression: {}", ErrorText(error)));
  // Where memory must not be executable there is no JIT; then PCRE2 interprets, several times slower.
  code_->jit = pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE) == 0;
}

SplitRegex::~SplitRegex() = default;
SplitRegex::SplitRegex(SplitRegex&&) noexcept = default;
SplitRegex& SplitRegex::operator=(SplitRegex&&) noexcept = default;

struct SplitRegex::Matcher::State {
  ~State() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
  const Code* code = nullptr;
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
};

SplitRegex::Matcher::Matcher(const SplitRegex& regex) : state_(std::make_unique<State>()) {
  state_->code = regex.code_.get();
  state_->data = pcre2_match_data_create_from_pattern(state_->code->code, nullptr);
  state_->context = pcre2_match_context_create(nullptr);
  state_->stack = pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr);
  if (!state_->data || !state_->context) throw std::bad_alloc();
  pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
}

SplitRegex::Matcher::~Matcher() = default;
SplitRegex::Matcher::Matcher(Matcher&&) noexcept = default;

bool SplitRegex::Matcher::Find(std::string_view text, size_t from, size_t* begin, size_t* end) {
  const auto match = state_->code->jit ? pcre2_jit_match : pcre2_match;
  const int found = match(state_->code->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                          PCRE2_NO_UTF_CHECK, state_->data, state_->context);
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found < 0) {
    throw UserError(
        fmt::format("splitting a text of {} bytes with the tokenizer's regular expression failed: {}",
                    text.size(), ErrorText(found)));
  }
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(state_->data);
  *begin = offsets[0];
  *end = offsets[1];
  return true;
}

}  // namespace tritogen
