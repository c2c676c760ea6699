#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"

namespace tritogen::train {
namespace {

TEST(Checkpoints, TheLatestIsTheOneOfMostSteps) {
  const TempDir dir;
  EXPECT_FALSE(LatestCheckpoint(dir.path() / "nowhere"));
  EXPECT_FALSE(LatestCheckpoint(dir.path()));
  for (const char* name : {"step-00000007", "step-99999999", "step-100000000", "step-999999999.partial",
                           "step-00000007-copy", "step-999999999.bak", "step-", "step--5", "others"})
    std::filesystem::create_directory(dir.path() / name);
  EXPECT_EQ(LatestCheckpoint(dir.path())->filename(), "step-100000000");
}

}  // namespace
}  // namespace tritogen::train
