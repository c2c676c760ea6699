// Answers: what a language model wrote, cut into thoughts, plan and code. Whatever the text is, it ends in an
// Answer or in a reason why there is none.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/prompt.h"

namespace tritogen {

enum class NoAnswer {
  kEmpty,            // nothing was written
  kTooLong,          // more than kMostAnswerBytes
  kNotUtf8,          // bytes that are no text
  kUnclosedThought,  // it never stopped thinking
  kCutOff,           // the limit of tokens ended it before its code was complete
  kNoCode,           // prose alone
  kNoEntry,          // code, but nowhere the class or function that was asked for
  kNoKernel,         // the entry, but no @triton.jit
  kNoTag             // the form asked for a tag, and neither it nor a code block is there
};
std::string_view NoAnswerName(NoAnswer reason);    // "unclosed_thought"
std::string_view NoAnswerReason(NoAnswer reason);  // a sentence

inline constexpr size_t kMostAnswerBytes = size_t{1} << 20;

// AutoTriton's four steps; an empty one was not found.
struct FourSteps {
  std::string access, launch, compute, wrapper;
  bool complete() const;
  // "Access pattern: …\nLaunch: …\n…"
  std::string ToText() const;
};

struct Answer {
  std::string thoughts;            // inside of think tags
  std::string prose;               // outside of them and of the code
  std::string code;                // ends with a line break
  std::optional<FourSteps> steps;  // where thoughts or prose have at least two of the four headings
};

struct AnswerRequest {
  AnswerForm form = AnswerForm::kClass;  // not kText
  std::string tag;                       // of kTag
  std::string entry = "ModelNew";        // class or function that must be there
  bool kernel_needed = true;             // @triton.jit must be there
  bool cut_off = false;                  // the endpoint says that it stopped at the limit of tokens
};

// Blocks are tried in this order: the last one that has the entry and a kernel, the last one with the entry,
// all blocks put together when only that has the entry; without a fence, the text from its first import on. A
// fence that does not close reaches to the end.
std::variant<Answer, NoAnswer> ExtractAnswer(std::string_view text, const AnswerRequest& request);

// What an answer looks like, wherever we write one: thoughts between think tags (without thoughts no tags),
// the plan, a blank line, and the code in one fenced block, whose end ends the text. ExtractAnswer gives
// these back, but for blanks at their ends; REQUIRES for that: no think tags or fences in thoughts and plan.
std::string FormatAnswer(std::string_view thoughts, std::string_view plan, std::string_view code);

// Where the code of an answer begins, behind its thoughts: at the first fence, without one at the first line
// that starts like a file of Python; text.size() where there is none.
size_t CodeStart(std::string_view text);

// The thoughts are cut away; what is left has no think tags. Nothing when a thought does not end.
struct Unthought {
  std::string thoughts, rest;
};
std::optional<Unthought> SplitThoughts(std::string_view text);

// Contents of the fenced blocks of a text, in order.
std::vector<std::string> FencedBlocks(std::string_view text);

// The four steps that a text writes under headings ("Step 1: Access pattern.", "**Launch**", "Wrapper: …").
FourSteps FindFourSteps(std::string_view text);

}  // namespace tritogen
