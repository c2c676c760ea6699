// torch.compile beside the candidates of one reference, for commands that look at one task.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <vector>

#include "cli/session.h"
#include "judge/compiled_baseline.h"

namespace tritogen {

class Baseline {
 public:
  // Starts its process when candidates will be timed and the user wants it. Call it before threads are
  // started.
  Baseline(const Environment& environment, const CommonOptions& common, const VerifyOptions& verification,
           const SourceFile& reference);

  // Adds its times to the verdicts that have times; measures only when there are such. Call it when the
  // judges have left the GPU. On Ctrl-C it returns early.
  void AddTo(const std::vector<nlohmann::json*>& verdicts);

 private:
  std::optional<CompiledBaseline> process_;
};

}  // namespace tritogen
