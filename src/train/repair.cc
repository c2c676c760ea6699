#include "train/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_text.h"
#include "base/text.h"
#include "data/shard.h"
#include "text/answer.h"

namespace tritogen::train {
namespace {

constexpr size_t kMostProgram = size_t{4} << 20;

// Verdicts that say something of the answer, and what to mend.
constexpr std::array<std::string_view, 9> kFaults{"compile_error",    "runtime_error", "wrong_shape",
                                                  "wrong_dtype",      "wrong_values",  "memory_error",
                                                  "nondeterministic", "rejected",      "no_answer"};

bool IsFault(std::string_view outcome) {
  return std::find(kFaults.begin(), kFaults.end(), outcome) != kFaults.end();
}

std::string TextOrNone(const JsonCursor& at, const char* key) {
  if (!at.Has(key) || at[key].json().is_null()) return "";
  return at[key].String(kMostAnswerBytes);
}

}  // namespace

std::optional<WrongAnswer> WrongAnswerFrom(const data::Record& failure) {
  if (!IsFault(failure.verdict) || failure.source.empty()) return std::nullopt;
  return WrongAnswer{FormatAnswer(failure.thoughts, failure.plan, failure.source), failure.verdict,
                     failure.rule, failure.reason};
}

void AddWrongAnswer(std::string_view line, WrongAnswers* answers) {
  const nlohmann::json json = ParseJson(line);
  const JsonCursor at(json);
  at.ExpectObject();
  const JsonCursor verdict = at["verdict"];
  verdict.ExpectObject();
  WrongAnswer wrong{at["answer"].String(kMostAnswerBytes), verdict["verdict"].String(100),
                    TextOrNone(verdict, "rule"), TextOrNone(verdict, "reason")};
  const std::string& program = at["program"].String(kMostProgram);
  if (!IsFault(wrong.outcome) || Trimmed(wrong.text).empty()) return;
  (*answers)[program].push_back(std::move(wrong));
}

void ReadWrongAnswers(const std::filesystem::path& path, WrongAnswers* answers) {
  const std::string lines = data::ReadLines(path);
  std::string_view rest = lines;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = Trimmed(TakeLine(&rest));
    if (line.empty()) continue;
    try {
      AddWrongAnswer(line, answers);
    } catch (const FormatError& error) {
      throw UserError(fmt::format("{}, line {}: {}", path.string(), number, error.what()));
    }
  }
}

}  // namespace tritogen::train
