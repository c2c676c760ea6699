// verify --batch -: candidates as somebody sends them, a trainer for instance, to judges that stay.
#pragma once

#include "cli/batch_file.h"
#include "judge/judge_pool.h"

namespace tritogen {

// Judges the lines that come from a descriptor until its end; verdicts go out as they are found. Ids may come
// again, since they are the sender's. Exit code as of RunBatch. Throws UserError when verdicts cannot be
// written any more.
int JudgeStream(int fd, const BatchOptions& batch, const VerifyOptions& options, JudgePool* pool);

}  // namespace tritogen
