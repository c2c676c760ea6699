#include "teach/style.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/splitmix.h"
#include "base/text.h"

namespace tritogen::teach {
namespace {

// f(word, what follows it) for every identifier; what it returns is put in its place. In comments only
// constants, in capitals, are identifiers.
template <typename F>
std::string ReplaceWords(const std::string& text, const F& f) {
  std::string out;
  bool comment = false;
  for (size_t i = 0; i < text.size();) {
    if (!IsWordByte(text[i])) {
      comment = text[i] == '#' || (comment && text[i] != '\n');
      out += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsWordByte(text[end])) ++end;
    const bool attribute = i > 0 && text[i - 1] == '.';
    const std::string word = text.substr(i, end - i);
    const bool prose =
        comment && std::any_of(word.begin(), word.end(), [](char c) { return std::islower(c) != 0; });
    out += attribute || prose ? word : f(word, end < text.size() ? text[end] : ' ');
    i = end;
  }
  return out;
}

std::set<std::string> WordsOf(const std::string& text) {
  std::set<std::string> words;
  ReplaceWords(text, [&](const std::string& word, char) {
    words.insert(word);
    return word;
  });
  return words;
}

// Other words for the plain style's. What is already a name in the text stays that.
struct Choice {
  const char* plain;
  std::vector<const char*> others;
};
const std::vector<Choice>& Choices() {
  static const std::vector<Choice> choices = {
      {"offs", {"offs", "offsets", "idx", "offset"}},
      {"mask", {"mask", "in_range", "valid"}},
      {"cols", {"cols", "col_offsets", "columns", "c"}},
      {"rows", {"rows", "row_offsets", "row_ids"}},
      {"row", {"row", "row_id", "pid"}},
      {"col_mask", {"col_mask", "cols_in_range", "column_mask"}},
      {"row_mask", {"row_mask", "rows_in_range"}},
      {"N_COLS", {"N_COLS", "COLS", "n_cols"}},
      {"N_ROWS", {"N_ROWS", "n_rows"}},
      {"ROWS", {"ROWS", "ROWS_PER_PROGRAM", "BLOCK_ROWS"}},
      {"BLOCK", {"BLOCK", "BLOCK_SIZE", "TILE"}},
      {"N", {"N", "n_elements", "NUMEL"}},
      {"acc", {"acc", "accumulator", "total"}},
      {"offs_m", {"offs_m", "rm", "m_offsets"}},
      {"offs_n", {"offs_n", "rn", "n_offsets"}},
      {"offs_k", {"offs_k", "rk", "k_offsets"}},
      {"GROUP_M", {"GROUP_M", "GROUP_SIZE_M"}},
      {"start", {"start", "k_start", "begin"}},
  };
  return choices;
}

// The style's word for a plain one, or that one where the kernel has such a name already.
std::string Renamed(const Style& style, const std::string& word, const std::set<std::string>& words) {
  auto found = style.names.find(word);
  if (found == style.names.end() || words.count(found->second) > 0) return word;
  // A product's sizes M, N, K belong together and keep their names.
  return word == "N" && words.count("BLOCK_N") > 0 ? word : found->second;
}

}  // namespace

std::string Style::Written(const std::string& source, const std::string& summary) const {
  const std::set<std::string> words = WordsOf(source);
  std::string text = ReplaceWords(source, [&](const std::string& word, char next) {
    if (word == "mask" && next == '=') return word;  // tl.load's keyword
    if (word.ends_with("_ptr")) {
      std::string renamed = word.substr(0, word.size() - 4) + pointer_suffix;
      return words.count(renamed) > 0 ? word : renamed;
    }
    return Renamed(*this, word, words);
  });
  if (comments == 1) return text;
  std::string out;
  bool documented = comments != 2;
  const size_t kernel = text.rfind("\ndef ");  // behind the functions that it calls
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t first = line.find_first_not_of(' ');
    if (comments == 0 && first != std::string::npos && line[first] == '#') continue;
    out += line + "\n";
    if (!documented && at > kernel && line.ends_with("):")) {
      out += fmt::format("    \"\"\"{}\"\"\"\n", summary);
      documented = true;
    }
  }
  return out;
}

std::string Style::Constants(const std::string& text, const std::string& source) const {
  const std::set<std::string> words = WordsOf(source);
  return ReplaceWords(text, [&](const std::string& word, char) { return Renamed(*this, word, words); });
}

Style StyleOf(uint64_t seed) {
  Style style;
  if (seed == 0) return style;
  SplitMix chance(seed);
  std::set<std::string> taken;
  for (const Choice& choice : Choices()) {
    const std::string other = choice.others[chance.Below(choice.others.size())];
    if (other != choice.plain && taken.insert(other).second) style.names[choice.plain] = other;
  }
  constexpr const char* kSuffixes[] = {"_ptr", "_ptr", "_p", "_pointer"};
  constexpr const char* kNames[] = {"{}_kernel", "{}_kernel", "_{}_kernel",
                                    "fused_{}",  "triton_{}", "{}_fwd_kernel"};
  style.pointer_suffix = kSuffixes[chance.Below(std::size(kSuffixes))];
  style.kernel_name = kNames[chance.Below(std::size(kNames))];
  style.comments = static_cast<int>(chance.Below(3));
  style.grid_line = chance.Chance(0.5);
  style.wrapper = static_cast<Wrapper>(chance.Below(3));
  style.wording = static_cast<int>(chance.Below(3));
  return style;
}

}  // namespace tritogen::teach
