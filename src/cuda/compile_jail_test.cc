// What a compiler process could do if a kernel's text took it over: worker/tests/run_program.py tries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/frame.h"
#include "record/jail_probe.h"
#include "record/worker_spec.h"
#include "record/zygote.h"

namespace tritogen::cuda {
namespace {

// What each attempt of a child ended with: "worked", or the name of the exception.
nlohmann::json TryEverything(bool weak) {
  const char* python = std::getenv("TRITOGEN_PYTHON");
  const PythonEnvironment environment =
      FindPythonEnvironment(python != nullptr ? python : TRITOGEN_SOURCE_DIR "/.venv/bin/python");
  Zygote zygote(WorkerSpec(environment, TRITOGEN_SOURCE_DIR "/worker", "tests.run_program", weak),
                SeccompProfile::kCompile);
  const ChildEnd end = zygote.Run(EncodeFrame({{"request", 1}}), ChildLimits());
  EXPECT_EQ(end.status, 0) << end.output << end.problem;
  return end.status == 0 ? DecodeFrame(end.reply) : nlohmann::json();
}

bool HasLandlock() {
  const std::vector<JailFeature> features = ProbeJail();
  return std::any_of(features.begin(), features.end(), [](const JailFeature& feature) {
    return feature.name == "landlock" && feature.available;
  });
}

TEST(CompileJail, StartsTheAssemblerAndNothingElse) {
  const nlohmann::json tried = TryEverything(RequireJail(/*allow_weak_jail=*/false).weak);
  EXPECT_EQ(tried["assembler"], "worked");
  EXPECT_EQ(tried["interpreter"], HasLandlock() ? "PermissionError" : "worked");
  for (const char* attack : {"own program", "fork", "socket", "kill"}) {
    EXPECT_EQ(tried[attack], "PermissionError") << attack;
  }
  EXPECT_EQ(tried["thread"], "RuntimeError");
  EXPECT_EQ(tried["write outside"], "OSError");  // a read-only file system
}

TEST(CompileJail, AWeakOneStillStartsNoOtherProgram) {
  const nlohmann::json tried = TryEverything(/*weak=*/true);
  EXPECT_EQ(tried["assembler"], "worked");
  EXPECT_EQ(tried["interpreter"], HasLandlock() ? "PermissionError" : "worked");
  for (const char* attack : {"fork", "socket", "kill"}) EXPECT_EQ(tried[attack], "PermissionError") << attack;
  EXPECT_EQ(tried["thread"], "RuntimeError");
}

}  // namespace
}  // namespace tritogen::cuda
