#include "text/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/python_tokens.h"
#include "base/text.h"
#include "base/utf8.h"

namespace tritogen {
namespace {

// ``` or ~~~, three or more, after blanks: how many, and what follows them. 0: no fence.
struct Fence {
  size_t length = 0, indent = 0;
  char mark = 0;
  std::string_view info;
};

Fence FenceOf(std::string_view line) {
  const size_t indent = line.find_first_not_of(" \t");
  if (indent == std::string_view::npos || (line[indent] != '`' && line[indent] != '~')) return {};
  const size_t end = std::min(line.find_first_not_of(line[indent], indent), line.size());
  if (end - indent < 3) return {};
  return {end - indent, indent, line[indent], Trimmed(line.substr(end))};
}

// A text with its fenced blocks taken out.
struct Blocks {
  std::vector<std::string> code;
  std::string prose;
  bool last_unclosed = false;
};

Blocks SplitBlocks(std::string_view text) {
  Blocks blocks;
  Fence open;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    const Fence fence = FenceOf(line);
    if (open.length == 0 && fence.length > 0) {
      open = fence;
      blocks.code.emplace_back();
    } else if (open.length > 0 && fence.mark == open.mark && fence.length >= open.length &&
               fence.info.empty()) {
      open = {};
    } else if (open.length > 0) {
      // A block inside of a list is indented as a whole.
      const size_t indent = std::min(open.indent, std::min(line.find_first_not_of(" \t"), line.size()));
      blocks.code.back().append(line.substr(indent)).append("\n");
    } else {
      blocks.prose.append(line).append("\n");
    }
  }
  blocks.last_unclosed = open.length > 0;
  return blocks;
}

// "class NAME" or "def NAME" stands somewhere in the code, not in a string or comment.
bool Defines(std::string_view code, std::string_view entry) {
  std::string_view before;
  for (const PythonToken& token : PythonTokens(code)) {
    if (token.kind == PythonToken::Kind::kOther) continue;
    if (token.kind == PythonToken::Kind::kName && token.text == entry &&
        (before == "class" || before == "def"))
      return true;
    before = token.kind == PythonToken::Kind::kName ? token.text : std::string_view();
  }
  return false;
}

// "@triton.jit", or "@jit" of an import from triton.
bool HasKernel(std::string_view code) {
  bool decorator = false;
  for (const PythonToken& token : PythonTokens(code)) {
    if (token.text == "@") decorator = true;
    if (token.text == "\n") decorator = false;
    if (decorator && token.kind == PythonToken::Kind::kName && token.text == "jit") return true;
  }
  return false;
}

// What stands between <tag> and </tag>, the last one; to the end of the text where it does not close.
std::optional<std::string> Tagged(std::string_view text, std::string_view tag) {
  const std::string opening = fmt::format("<{}>", tag), closing = fmt::format("</{}>", tag);
  const size_t first = text.rfind(opening);
  if (first == std::string_view::npos) return std::nullopt;
  std::string_view inside = text.substr(first + opening.size());
  inside = inside.substr(0, inside.find(closing));
  // Some put a fence into the tag all the same.
  const Blocks blocks = SplitBlocks(inside);
  return blocks.code.empty() ? std::string(inside) : blocks.code.back();
}

// Code without any fence: from the first line that starts like a file of Python.
std::string_view BareCode(std::string_view text) {
  while (!text.empty()) {
    const std::string_view from_here = text, line = TakeLine(&text);
    for (const char* start : {"import ", "from ", "@triton.jit", "class ", "def "}) {
      if (line.starts_with(start)) return from_here;
    }
  }
  return {};
}

class Chooser {
 public:
  Chooser(const AnswerRequest& request, const Blocks& blocks) : request_(request), blocks_(blocks) {}

  std::variant<std::string, NoAnswer> Choose() const {
    if (blocks_.code.empty()) return NoAnswer::kNoCode;
    const std::string* with_entry = nullptr;
    for (auto block = blocks_.code.rbegin(); block != blocks_.code.rend(); ++block) {
      if (!Defines(*block, request_.entry)) continue;
      if (HasKernel(*block)) return *block;
      if (with_entry == nullptr) with_entry = &*block;
    }
    if (with_entry == nullptr) return NoAnswer::kNoEntry;
    // The kernel may stand in a block of its own, before the class.
    std::string together;
    for (const std::string& block : blocks_.code) together += block + "\n\n";
    if (HasKernel(together)) return together;
    if (request_.kernel_needed) return NoAnswer::kNoKernel;
    return *with_entry;
  }

 private:
  const AnswerRequest& request_;
  const Blocks& blocks_;
};

bool IsWordIn(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

// Which of the four steps a heading announces, and what stands behind it on its line.
struct Heading {
  int step = -1;
  std::string_view rest;
};

// The step that a title speaks of, in models' words and in the built-in teacher's; -1: none.
int StepNamed(std::string_view title) {
  constexpr std::pair<std::string_view, int> kWords[] = {
      {"access", 0}, {"load", 2}, {"compute", 2}, {"program does", 2}, {"work of", 2},
      {"launch", 1}, {"grid", 1}, {"wrapper", 3}, {"integrat", 3},     {"calling side", 3}};
  if (title == "Work") return 2;
  for (const auto& [word, step] : kWords) {
    if (IsWordIn(title, word)) return step;
  }
  return -1;
}

// "## 2. Launch", "**Step 3: Load, compute, store.** text", "Wrapper: text".
Heading HeadingOf(std::string_view line) {
  constexpr size_t kLongestTitle = 48;
  std::string_view rest = Trimmed(line);
  const size_t whole = rest.size();
  auto skip = [&](std::string_view characters) {
    rest.remove_prefix(std::min(rest.find_first_not_of(characters), rest.size()));
  };
  if (!rest.starts_with("* ")) skip("#* \t");
  if (rest.starts_with("Step ") || rest.starts_with("step ")) rest.remove_prefix(5);
  skip("0123456789.:) *");
  const bool marked = rest.size() < whole;
  const size_t end = rest.find_first_of(":.*");
  const std::string_view title = rest.substr(0, end);
  const bool named = end != std::string_view::npos && rest[end] == ':';
  if (title.size() > kLongestTitle || !(marked || named)) return {};
  const int step = title.find('_') == std::string_view::npos ? StepNamed(title) : -1;  // a kernel's name
  if (end == std::string_view::npos) return {step, {}};
  rest.remove_prefix(end);
  skip(":.* \t");
  return {step, rest};
}

constexpr std::string_view kThinkTags[] = {"think", "thinking", "reasoning"};

// The first tag of these, opening or closing, from a place on.
struct ThinkTag {
  size_t at = std::string_view::npos, end = 0;
  bool closing = false;
};

// Looks at each place once: a search for every tag would go through the whole text from each one on.
ThinkTag NextThinkTag(std::string_view text, size_t from) {
  for (size_t at = from; (at = text.find('<', at)) != std::string_view::npos; ++at) {
    std::string_view rest = text.substr(at + 1);
    const bool closing = rest.starts_with('/');
    if (closing) rest.remove_prefix(1);
    for (const std::string_view tag : kThinkTags) {
      if (rest.starts_with(tag) && rest.substr(tag.size()).starts_with('>'))
        return {at, at + 1 + (closing ? 1 : 0) + tag.size() + 1, closing};
    }
  }
  return {};
}

}  // namespace

std::string_view NoAnswerName(NoAnswer reason) {
  constexpr std::string_view kNames[] = {"empty",   "too_long", "not_utf8", "unclosed_thought",
                                         "cut_off", "no_code",  "no_entry", "no_kernel",
                                         "no_tag"};
  return kNames[static_cast<size_t>(reason)];
}

std::string_view NoAnswerReason(NoAnswer reason) {
  constexpr std::string_view kReasons[] = {
      "the answer is empty",
      "the answer is longer than 1 MiB",
      "the answer is not UTF-8 text",
      "the answer never stops thinking: its thoughts have no end",
      "the answer was cut off at the limit of tokens before its code was complete",
      "the answer has no code",
      "the answer's code does not define the class or function that was asked for",
      "the answer's code has no @triton.jit kernel",
      "the answer has neither the tag nor the code block that was asked for"};
  return kReasons[static_cast<size_t>(reason)];
}

bool FourSteps::complete() const {
  return !access.empty() && !launch.empty() && !compute.empty() && !wrapper.empty();
}

std::string FourSteps::ToText() const {
  std::string text;
  for (const auto& [title, step] : {std::pair("Access pattern", &access),
                                    {"Launch", &launch},
                                    {"Load, compute, store", &compute},
                                    {"Wrapper", &wrapper}}) {
    if (!step->empty()) text += fmt::format("{}: {}\n", title, *step);
  }
  return text;
}

FourSteps FindFourSteps(std::string_view text) {
  std::array<std::string, 4> steps;
  int current = -1;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    if (const Heading heading = HeadingOf(line); heading.step >= 0) {
      current = heading.step;
      steps[current] = heading.rest;  // the last one counts: thoughts are revised
    } else if (current >= 0) {
      steps[current].append(steps[current].empty() ? "" : "\n").append(Trimmed(line));
    }
  }
  for (std::string& step : steps) step = std::string(Trimmed(step));
  return {steps[0], steps[1], steps[2], steps[3]};
}

std::string FormatAnswer(std::string_view thoughts, std::string_view plan, std::string_view code) {
  thoughts = Trimmed(thoughts);
  plan = Trimmed(plan);
  code.remove_prefix(std::min(code.find_first_not_of("\r\n"), code.size()));
  code = code.substr(0, code.find_last_not_of(kBlank) + 1);
  size_t longest = 2;  // of the fences that stand in the code
  for (std::string_view rest = code; !rest.empty();)
    longest = std::max(longest, FenceOf(TakeLine(&rest)).length);
  const std::string fence(longest + 1, '`');
  std::string text;
  if (!thoughts.empty()) text += fmt::format("<think>\n{}\n</think>\n\n", thoughts);
  if (!plan.empty()) text += fmt::format("{}\n\n", plan);
  return text + fmt::format("{}python\n{}\n{}", fence, code, fence);
}

size_t CodeStart(std::string_view text) {
  size_t from = 0;
  for (ThinkTag tag; (tag = NextThinkTag(text, from)).at != std::string_view::npos;) from = tag.end;
  for (std::string_view rest = text.substr(from); !rest.empty();) {
    const size_t here = text.size() - rest.size();
    if (FenceOf(TakeLine(&rest)).length > 0) return here;
  }
  return text.size() - BareCode(text.substr(from)).size();
}

std::vector<std::string> FencedBlocks(std::string_view text) {
  return SplitBlocks(text).code;
}

std::optional<Unthought> SplitThoughts(std::string_view text) {
  Unthought result;
  size_t at = 0;
  int depth = 0;
  while (true) {
    const ThinkTag tag = NextThinkTag(text, at);
    const std::string_view before = text.substr(at, tag.at == std::string_view::npos ? tag.at : tag.at - at);
    (depth > 0 ? result.thoughts : result.rest) += before;
    if (tag.at == std::string_view::npos) break;
    at = tag.end;
    if (!tag.closing) {
      ++depth;
    } else if (depth > 0) {
      --depth;
    } else {  // the template of the chat opened it: all so far was thought
      result.thoughts += result.rest;
      result.rest.clear();
    }
  }
  if (depth > 0) return std::nullopt;
  result.thoughts = std::string(Trimmed(result.thoughts));
  return result;
}

std::variant<Answer, NoAnswer> ExtractAnswer(std::string_view text, const AnswerRequest& request) {
  TRITOGEN_CHECK(request.form != AnswerForm::kText);
  if (Trimmed(text).empty()) return NoAnswer::kEmpty;
  if (text.size() > kMostAnswerBytes) return NoAnswer::kTooLong;
  if (!IsUtf8(text)) return NoAnswer::kNotUtf8;
  auto parts = SplitThoughts(text);
  if (!parts) return request.cut_off ? NoAnswer::kCutOff : NoAnswer::kUnclosedThought;
  if (Trimmed(parts->rest).empty()) return NoAnswer::kEmpty;
  std::optional<std::string> tagged;
  Blocks blocks;
  if (request.form == AnswerForm::kTag) {
    tagged = Tagged(parts->rest, request.tag);
    if (tagged) {
      blocks.code.push_back(*tagged);
      blocks.last_unclosed = parts->rest.find(fmt::format("</{}>", request.tag)) == std::string::npos;
    }
  }
  if (!tagged) {
    blocks = SplitBlocks(parts->rest);
    if (blocks.code.empty()) {
      const std::string_view bare = BareCode(parts->rest);
      if (Defines(bare, request.entry)) blocks = {{std::string(bare)}, "", true};
    }
    if (blocks.code.empty() && request.form == AnswerForm::kTag)
      return request.cut_off ? NoAnswer::kCutOff : NoAnswer::kNoTag;
  }
  const auto chosen = Chooser(request, blocks).Choose();
  if (request.cut_off && (blocks.last_unclosed || std::holds_alternative<NoAnswer>(chosen)))
    return NoAnswer::kCutOff;
  if (const auto* reason = std::get_if<NoAnswer>(&chosen)) return *reason;
  Answer answer{std::move(parts->thoughts), std::string(Trimmed(blocks.prose)),
                std::get<std::string>(chosen)};
  answer.code.erase(0, answer.code.find_first_not_of("\r\n"));
  answer.code.erase(answer.code.find_last_not_of(kBlank) + 1);
  answer.code += '\n';
  for (const std::string* place : {&answer.prose, &answer.thoughts}) {
    const FourSteps steps = FindFourSteps(*place);
    const int found =
        !steps.access.empty() + !steps.launch.empty() + !steps.compute.empty() + !steps.wrapper.empty();
    if (found >= 2 && (!answer.steps || (steps.complete() && !answer.steps->complete())))
      answer.steps = steps;
  }
  return answer;
}

}  // namespace tritogen
