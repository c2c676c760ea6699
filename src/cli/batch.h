// verify --batch: many candidates from a JSONL file, all cores busy, one JSON object a line as they finish.
#pragma once

#include "cli/batch_file.h"
#include "cli/session.h"
#include "judge/judge_pool.h"

namespace tritogen {

// Exit code: 0 all judged, 2 the file cannot be used, 130 interrupted.
int RunBatch(const BatchOptions& batch, const CommonOptions& common, const Environment& environment);

// The same for lines that were read, with judges that are there already.
int JudgeBatch(const std::vector<BatchLine>& lines, const BatchOptions& batch, const VerifyOptions& options,
               JudgePool* pool);

}  // namespace tritogen
