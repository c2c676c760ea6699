// verify --batch -: candidates as somebody sends them, a trainer for instance, to judges that stay.
#pragma once

#include "cli/batch_file.h"
#include "judge/judge_pool.h"

namespace tritogen {

// Judges the lines that come from a descriptor until its end; verdicts go out as they are found. An id may
// come again when its verdict is out, but not where verdicts go to a file, which a later run goes on with by
// ids: such a line is answered as "line 7". Exit code as of RunBatch. Throws UserError when verdicts cannot
// be written any more.
int JudgeStream(int fd, const BatchOptions& batch, const VerifyOptions& options, JudgePool* pool);

}  // namespace tritogen
