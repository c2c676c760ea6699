#include "cli/batch.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/thread_team.h"
#include "cli/batch_output.h"
#include "cli/batch_stream.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "report/verdict_view.h"

namespace tritogen {

using nlohmann::json;

int JudgeBatch(const std::vector<BatchLine>& lines, const BatchOptions& batch, const VerifyOptions& options,
               JudgePool* pool) {
  const std::set<std::string> finished = batch.out.empty() ? std::set<std::string>() : FinishedIds(batch.out);
  auto todo = [&](const BatchLine& line) { return !finished.count(line.id); };
  BatchOutput output(batch.out);
  Progress progress("verify", std::count_if(lines.begin(), lines.end(), todo));

  int64_t done = 0, passed = 0;
  auto report = [&](const std::string& id, const json& verdict) {
    progress.Clear();
    output.Write(id, verdict);
    passed += TextIn(verdict, "verdict") == "passed";
    progress.Set(++done, fmt::format("{} passed", passed));
  };
  for (const BatchLine& line : lines) {
    if (!todo(line)) continue;
    try {
      if (!line.fault.empty()) throw UserError(line.fault);
      pool->Submit(line.id, RequestOf(line, batch, options));
    } catch (const UserError& error) {
      report(line.id, BadLine(error.what()));
    }
  }
  while (pool->unfinished() > 0 && !Interrupted()) {
    if (auto reply = pool->Next(0.5)) report(reply->id, reply->verdict);
  }
  if (!Interrupted()) return 0;
  progress.Clear();
  fmt::print(stderr, "interrupted after {} of {} candidates{}\n", lines.size() - pool->unfinished(),
             lines.size(),
             batch.out.empty() ? "; with --out FILE a second run goes on where this one stopped"
                               : "; run it again to go on");
  return kInterruptedExit;
}

int RunBatch(const BatchOptions& batch, const CommonOptions& common, const Environment& environment) {
  const bool streams = batch.file == "-";
  if (!batch.out.empty()) RequireUnlike(batch.out, {batch.file});
  const std::vector<BatchLine> lines = streams ? std::vector<BatchLine>() : ReadBatch(batch.file);
  const std::optional<FoundGpu> gpu = common.FindGpu();
  const VerifyOptions options = common.Verification(gpu.has_value(), /*threads=*/1, /*in_batch=*/true);
  CatchInterrupt();
  const Workers workers = StartWorkers(environment, common, gpu, MachineThreads());
  JudgePool pool(workers.recorder.get(), MachineThreads(), workers.gpu, workers.cache);
  AwaitWorkers(workers, &pool);
  return streams ? JudgeStream(STDIN_FILENO, batch, options, &pool)
                 : JudgeBatch(lines, batch, options, &pool);
}

}  // namespace tritogen
