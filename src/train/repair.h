// Wrong answers and their verdicts, from which repair is learned: question, wrong answer, verdict, right
// answer.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/record.h"

namespace tritogen::train {

struct WrongAnswer {
  std::string text;  // the whole answer, as it was written
  std::string outcome, rule, reason;
};

// By the canonical text of the program.
using WrongAnswers = std::map<std::string, std::vector<WrongAnswer>, std::less<>>;

// What a set keeps of an answer that did not pass; nothing where the verdict is not the answer's fault
// (timeout, killed, infra_error, a reference that failed).
std::optional<WrongAnswer> WrongAnswerFrom(const data::Record& failure);

// One line of a file of answers, as `eval` writes them: {"program", "reference", "answer", "verdict":
// {"verdict", "rule", "reason"}}, other keys are left alone. Adds it, unless it passed or its verdict is not
// its fault. Throws FormatError.
void AddWrongAnswer(std::string_view line, WrongAnswers* answers);
// A file of them. Throws UserError naming file and line.
void ReadWrongAnswers(const std::filesystem::path& path, WrongAnswers* answers);

}  // namespace tritogen::train
