// The files of verify --batch: the lines that come in, and the output of an earlier run that is gone on with.
#pragma once

#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "judge/judge.h"

namespace tritogen {

struct BatchOptions {
  // JSONL with id, reference, candidate (each a path or inline source), and optional classes; "-": stdin,
  // where candidates are sources, whatever they look like
  std::string file;
  std::string out;  // empty: stdout. A file is appended to, and ids that it already holds are skipped
  std::string class_reference, class_candidate;
};

struct BatchLine {
  std::string id;         // the line's own, or "line 3"
  nlohmann::json object;  // with text fields reference and candidate, where there is no fault
  std::string fault;      // what is wrong with the line
};

// Nothing but white space, behind a byte order mark maybe, which editors put in front of a file's first line.
bool IsBlankLine(std::string_view text);

// `number`: of the line, from 1.
BatchLine ParseBatchLine(std::string_view text, int number);

// Every line that is not blank; at least one, no two with one id. Throws UserError where that cannot be.
std::vector<BatchLine> ReadBatch(const std::string& path);

// Ids with a complete line in an earlier output; none when there is no such regular file. A last line cut off
// by a crash is removed from the file, so that appending is safe. Throws UserError, and leaves the file as it
// is, where it holds something else.
std::set<std::string> FinishedIds(const std::string& path);

// Text with a line break is the program itself; without one it is a path, looked for beside the batch file
// too. Throws UserError when it cannot be read. REQUIRES: line.fault is empty.
JudgeRequest RequestOf(const BatchLine& line, const BatchOptions& batch, const VerifyOptions& options);

}  // namespace tritogen
