#include "cli/baseline.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/verdict_view.h"

namespace tritogen {

Baseline::Baseline(const Environment& environment, const CommonOptions& common,
                   const VerifyOptions& verification, const SourceFile& reference) {
  if (!verification.on_gpu || common.no_compile) return;
  process_.emplace(CompiledBaselineOptions{.python = environment.python,
                                           .script = environment.root + "/worker/compiled_baseline.py",
                                           .cache_folder = CacheFolder() / "inductor",
                                           .reference = reference,
                                           .fp32_precision = verification.fp32_precision,
                                           .seed = verification.seed,
                                           .samples = verification.timing_samples,
                                           .seconds = verification.timing_seconds,
                                           .limit_seconds = common.budget_seconds});
}

void Baseline::AddTo(const std::vector<nlohmann::json*>& verdicts) {
  const bool timed = std::any_of(verdicts.begin(), verdicts.end(), [](const nlohmann::json* verdict) {
    return MedianMicrosecondsIn(*verdict).has_value();
  });
  if (!process_ || !timed) return;
  fmt::print(stderr, "timing torch.compile (--no-compile leaves it out)\n");
  const CompiledResult result = process_->Run(Interrupted);
  for (nlohmann::json* verdict : verdicts) AddBaseline(result, verdict);
}

}  // namespace tritogen
