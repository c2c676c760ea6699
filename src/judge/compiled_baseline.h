// torch.compile as a baseline: the reference, compiled by PyTorch itself, timed in a process of its own
// (worker/compiled_baseline.py) by the method that times candidates. That process runs the reference's file,
// the user's own, with a GPU and outside of the jail; it never sees a candidate. It also times eager PyTorch,
// so that a reader can see that the two clocks agree.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/temp_dir.h"
#include "cuda/statistics.h"
#include "judge/judge.h"

namespace tritogen {

struct CompiledBaselineOptions {
  std::string python, script;          // interpreter with torch; worker/compiled_baseline.py
  std::filesystem::path cache_folder;  // of Inductor, which makes a second run quick
  SourceFile reference;
  Fp32Precision fp32_precision = Fp32Precision::kIeee;  // as VerifyOptions has it, for both programs
  uint64_t seed = 0;
  int samples = 100;           // as VerifyOptions::timing_samples
  double seconds = 1;          // as VerifyOptions::timing_seconds
  double limit_seconds = 120;  // for all of Run
};

// Times of one program in microseconds, in the order in which they were taken.
struct SampledTimes {
  cuda::Summary summary;
  std::vector<double> samples;
};

struct CompiledTimes {
  struct Method {
    SampledTimes eager, compiled;
  };
  std::string eager;            // "eager fp32" or "eager tf32"
  std::optional<Method> graph;  // where both programs could be captured
  Method plain;                 // as Python calls them
  double compile_seconds = 0;
  std::string
      difference;  // how the compiled program's answer differs from the eager one's; empty: it does not
  std::string torch, triton;
};

struct NoCompiledTimes {
  std::string reason;  // one sentence, or a few lines
};

using CompiledResult = std::variant<CompiledTimes, NoCompiledTimes>;

// One process. Not thread-safe.
class CompiledBaseline {
 public:
  // Starts the process, which loads PyTorch and the file, for seconds, and then waits: it leaves the GPU
  // alone until Run. The caller must have no other threads. Throws InternalError when no process can be made.
  explicit CompiledBaseline(const CompiledBaselineOptions& options);
  ~CompiledBaseline();  // kills the process and all that it started
  CompiledBaseline(const CompiledBaseline&) = delete;
  CompiledBaseline& operator=(const CompiledBaseline&) = delete;

  // Measures, once. `give_up` is asked several times a second.
  CompiledResult Run(const std::function<bool()>& give_up);

 private:
  void Start(const std::vector<std::string>& arguments);
  int Stop();
  std::optional<std::string> ReadAnswer(const std::function<bool()>& give_up, NoCompiledTimes* why_not);

  const double limit_seconds_;
  const TempDir folder_;  // the reference's file
  int pid_ = -1;          // leads a process group of its own
  UniqueFd input_, output_, error_;
  bool output_ended_ = false;
};

// Adds the times as a baseline to a verdict that has times, by the method that timed the candidate where both
// methods are there; or a note that says why there are none. Format: docs/formats/verdict.md.
void AddBaseline(const CompiledResult& result, nlohmann::json* verdict);

}  // namespace tritogen
