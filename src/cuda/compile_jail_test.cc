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

TEST(CompileJail, StartsTheAssemblerAndNothingElse) {
  const char* python = std::getenv("TRITOGEN_PYTHON");
  const PythonEnvironment environment =
      FindPythonEnvironment(python != nullptr ? python : TRITOGEN_SOURCE_DIR "/.venv/bin/python");
  const JailStrength jail = RequireJail(/*allow_weak_jail=*/false);
  Zygote zygote(WorkerSpec(environment, TRITOGEN_SOURCE_DIR "/worker", "tests.run_program", jail.weak),
                SeccompProfile::kCompile);
  const ChildEnd end = zygote.Run(EncodeFrame({{"request", 1}}), ChildLimits());
  ASSERT_EQ(end.status, 0) << end.output;
  const nlohmann::json tried = DecodeFrame(end.reply);
  EXPECT_EQ(tried["assembler"], "worked");
  const bool landlock = std::find(jail.missing.begin(), jail.missing.end(), "landlock") == jail.missing.end();
  EXPECT_EQ(tried["interpreter"], landlock ? "PermissionError" : "worked");
  for (const char* attack : {"own program", "fork", "socket", "kill"}) {
    EXPECT_EQ(tried[attack], "PermissionError") << attack;
  }
  EXPECT_EQ(tried["thread"], "RuntimeError");
  EXPECT_EQ(tried["write outside"], "OSError");  // a read-only file system
}

}  // namespace
}  // namespace tritogen::cuda
