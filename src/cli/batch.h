// verify --batch: many candidates from a JSONL file, all cores busy, one JSON object a line as they finish.
#pragma once

#include <string>

#include "cli/session.h"

namespace tritogen {

struct BatchOptions {
  std::string
      file;  // JSONL with id, reference, candidate (each a path or inline source), and optional classes
  std::string out;  // empty: stdout. A file is appended to, and ids that it already holds are skipped
  std::string class_reference, class_candidate;
};

// Exit code: 0 all judged, 2 the file cannot be used, 130 interrupted.
int RunBatch(const BatchOptions& batch, const CommonOptions& common, const Environment& environment);

}  // namespace tritogen
