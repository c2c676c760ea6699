#include "text/pre_tokenizer.h"

#include "base/error.h"
#include "base/json_cursor.h"
#include "base/utf8.h"
#include "text/ascii_run.h"
#include "text/nfc.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr size_t kMaxSteps = 16;
constexpr size_t kMaxPattern = 4096;

bool FlagOr(const JsonCursor& object, std::string_view key, bool otherwise) {
  return object.Has(key) ? object[key].Bool() : otherwise;
}

// The steps of a Sequence, or the one step there is.
std::vector<const json*> Steps(const json& part, const char* list) {
  if (part.is_null()) return {};
  const JsonCursor cursor(part);
  if (cursor["type"].String(100) != "Sequence") return {&part};
  std::vector<const json*> steps;
  const JsonCursor children = cursor[list];
  const size_t count = children.Size(kMaxSteps);
  for (size_t i = 0; i < count; ++i) {
    children[i].ExpectObject();
    steps.push_back(&children[i].json());
  }
  return steps;
}

std::string Escaped(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool plain =
        (c & 0x80) || isalnum(static_cast<unsigned char>(c)) || isspace(static_cast<unsigned char>(c));
    if (!plain) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

PreTokenizer::PreTokenizer(const json& normalizer, const json& pre_tokenizer) {
  for (const json* step : Steps(normalizer, "normalizers")) {
    const std::string type = JsonCursor(*step)["type"].String(100);
    if (type != "NFC") throw FormatError(fmt::format("normalizer '{}' is not supported, only NFC is", type));
    nfc_ = true;
  }
  const auto steps = Steps(pre_tokenizer, "pretokenizers");
  if (steps.empty()) throw FormatError("no pre_tokenizer: a byte-level tokenizer has one of type ByteLevel");
  for (const json* step : steps) AddStep(*step, step == steps.back());
}

void PreTokenizer::AddStep(const json& step, bool last) {
  const JsonCursor cursor(step);
  const std::string type = cursor["type"].String(100);
  if (last != (type == "ByteLevel")) {
    throw FormatError(fmt::format("pre_tokenizer '{}'{}: the last one, and no other, must be ByteLevel", type,
                                  last ? " at the end" : ""));
  }
  if (type == "Split") return AddSplit(step);
  if (type == "Digits")
    return AddRegex(FlagOr(cursor, "individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)", true);
  if (type != "ByteLevel") throw FormatError(fmt::format("pre_tokenizer '{}' is not supported", type));
  prefix_space_ = FlagOr(cursor, "add_prefix_space", true);
  prefix_before_ = splits_.size();
  if (FlagOr(cursor, "use_regex", true)) AddRegex(kGpt2Pattern, true);
}

void PreTokenizer::AddSplit(const json& step) {
  const JsonCursor cursor(step);
  const JsonCursor pattern = cursor["pattern"];
  pattern.ExpectKeys({"Regex", "String"});
  const bool is_regex = pattern.Has("Regex");
  const std::string text =
      is_regex ? pattern["Regex"].String(kMaxPattern) : Escaped(pattern["String"].String(kMaxPattern));
  const std::string behavior = cursor["behavior"].String(100);
  const bool invert = FlagOr(cursor, "invert", false);
  const bool isolated = behavior == "Isolated";
  if (!isolated && !(behavior == "Removed" && invert)) {
    throw FormatError(
        fmt::format("a Split of behavior '{}'{} is not supported", behavior, invert ? ", inverted," : ""));
  }
  AddRegex(text, isolated);
}

void PreTokenizer::AddRegex(std::string_view pattern, bool keep_gaps) {
  splits_.push_back({SplitRegex(pattern), HandSplit::For(pattern), keep_gaps});
}

std::string_view PreTokenizer::Normalize(std::string_view text, std::string* scratch) const {
  if (!nfc_) return text;
  if (WellFormedPrefix(text) == text.size()) return Nfc(text, scratch);
  scratch->clear();
  std::string part;
  while (!text.empty()) {
    const size_t good = WellFormedPrefix(text);
    scratch->append(Nfc(text.substr(0, good), &part));
    text.remove_prefix(good);
    const size_t bad = MalformedPrefix(text);
    scratch->append(text.substr(0, bad));
    text.remove_prefix(bad);
  }
  return *scratch;
}

Splitter::Splitter(const PreTokenizer& pre_tokenizer) : pre_tokenizer_(pre_tokenizer) {
  for (const auto& split : pre_tokenizer.splits_) matchers_.emplace_back(split.regex);
}

size_t WellFormedPrefix(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto tail = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  size_t at = 0;
  while ((at = AsciiEnd(text, at)) < text.size()) {
    const uint8_t first = byte(at);
    size_t bytes = 0;
    if (first >= 0xc2 && first <= 0xdf && at + 1 < text.size() && tail(at + 1))
      bytes = 2;
    else if (first > 0xe0 && first <= 0xec && at + 2 < text.size() && tail(at + 1) && tail(at + 2))
      bytes = 3;
    else  // few characters need a closer look
      bytes = Utf8CharacterBytes(text.substr(at));
    if (bytes == 0) break;
    at += bytes;
  }
  return at;
}

size_t MalformedPrefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && Utf8CharacterBytes(text.substr(at)) == 0) ++at;
  return at;
}

}  // namespace tritogen
