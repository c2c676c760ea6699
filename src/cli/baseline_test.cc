#include "cli/baseline.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "base/temp_dir.h"
#include "report/verdict_test_data.h"

namespace tritogen {
namespace {

using nlohmann::json;

// A checkout whose worker is a shell script that leaves a trace when it starts.
class Checkout {
 public:
  Checkout() {
    std::filesystem::create_directory(folder_.path() / "worker");
    WriteFileAtomic(
        folder_.path() / "worker" / "compiled_baseline.py",
        "touch \"$0.started\"; read go || exit 0; touch \"$0.measured\"\n"
        "times='{\"eager fp32\": {\"samples_us\": [30]}, \"torch.compile\": {\"samples_us\": [24.68]}}'\n"
        "echo \"{\\\"graph\\\": $times, \\\"plain\\\": $times, \\\"compile_seconds\\\": 1,\"\n"
        "echo '\"eager\": \"eager fp32\", \"difference\": null, \"torch\": \"2.11.0\", \"triton\": "
        "\"3.6.0\"}'\n");
  }
  Baseline Start(bool on_gpu, bool no_compile) const {
    CommonOptions common;
    common.no_compile = no_compile;
    return Baseline({.root = folder_.path(), .python = "/bin/sh"}, common, {.on_gpu = on_gpu},
                    {.text = "", .entry = "Model"});
  }
  bool Has(const std::string& trace) const {
    return std::filesystem::exists(folder_.path() / "worker" / ("compiled_baseline.py." + trace));
  }

 private:
  TempDir folder_;
};

TEST(Baseline, BecomesPartOfEveryVerdictWithTimes) {
  const Checkout checkout;
  json timed = TimedVerdict(), failed = FailedVerdict();
  timed["timing"]["baselines"].erase(1);
  checkout.Start(/*on_gpu=*/true, /*no_compile=*/false).AddTo({&failed, &timed});
  EXPECT_EQ(failed, FailedVerdict());
  EXPECT_EQ(timed["timing"]["baselines"][1]["name"], "torch.compile");
  EXPECT_DOUBLE_EQ(timed["timing"]["speedup"]["torch.compile"], 2);
}

TEST(Baseline, MeasuresNothingWhereNoCandidateWasTimed) {
  const Checkout checkout;
  json failed = FailedVerdict();
  checkout.Start(/*on_gpu=*/true, /*no_compile=*/false).AddTo({&failed});
  EXPECT_EQ(failed, FailedVerdict());
  EXPECT_FALSE(checkout.Has("measured"));
}

TEST(Baseline, IsNotStartedWithoutAGpuOrWhereItIsNotWanted) {
  const Checkout checkout;
  for (const auto& [on_gpu, no_compile] : {std::pair(false, false), {true, true}}) {
    json verdict = TimedVerdict();
    checkout.Start(on_gpu, no_compile).AddTo({&verdict});
    EXPECT_EQ(verdict, TimedVerdict());
  }
  EXPECT_FALSE(checkout.Has("started"));
}

}  // namespace
}  // namespace tritogen
