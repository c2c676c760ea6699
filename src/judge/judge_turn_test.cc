// GPU judges that keep a turn between two jobs, without a GPU: the turn is a lock in a folder of the test's
// own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/temp_dir.h"
#include "device/turn_lock.h"
#include "judge/test_judges.h"

namespace tritogen {
namespace {

using std::chrono::milliseconds;

constexpr auto kAtOnce = milliseconds(400);  // on a busy machine; else it is 1 ms

// Keeps its turn until somebody waits, however long that takes, and leaves a file when it ends in order.
class Keeper {
 public:
  explicit Keeper(const std::filesystem::path& folder) : folder_(folder) {}
  ~Keeper() { std::ofstream(folder_ / "ended") << turn_.has_value(); }

  GpuJudge::Result Run(const GpuJob& job) {
    if (job.notes.at(0) == "throw") throw std::runtime_error("no luck");
    if (!turn_) turn_.emplace(folder_ / "gpu").Take();
    GpuJudge::Result result;
    result.verdict.outcome = Outcome::kPassed;
    result.verdict.reason = job.notes.at(0) == "long" ? std::string(8 << 20, 'x') : std::to_string(getpid());
    result.idle = [this] {
      if (turn_->SomebodyWaits()) turn_.reset();
      return turn_.has_value();
    };
    return result;
  }

 private:
  std::filesystem::path folder_;
  std::optional<TurnLock> turn_;
};

class JudgeThatKeepsATurn : public testing::Test {
 protected:
  JudgeReply Judge(const std::string& text) {
    Submit(text);
    return pool_->Next(30).value();
  }

  void Submit(const std::string& text) {
    pool_->Submit(text, {{}, {.text = text}, {.seed = 7, .budget_seconds = 60}});
  }

  static pid_t PidIn(const JudgeReply& reply) {
    return std::stoi(reply.verdict.at("reason").get<std::string>());
  }

  bool IsKept() const {
    const int fd = open((folder_.path() / "gpu.lock").c_str(), O_RDONLY | O_CLOEXEC);
    const bool kept = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return kept;
  }

  // How long another one waits for the turn.
  milliseconds Wait() const {
    const auto start = std::chrono::steady_clock::now();
    TurnLock(folder_.path() / "gpu").Take();
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
  }

  // What the judge left when it ended; empty: nothing.
  std::string Ended() const {
    std::string left;
    std::ifstream(folder_.path() / "ended") >> left;
    return left;
  }

  const TempDir folder_;
  std::unique_ptr<JudgePool> pool_ = std::make_unique<JudgePool>(
      [] { return HandOverAll; }, 1,
      [folder = folder_.path()](int) -> GpuJudgeFunction {
        return [keeper = std::make_shared<Keeper>(folder)](const GpuJob& job) { return keeper->Run(job); };
      },
      1, kGraceSeconds,
      [folder = folder_.path()](bool) { return JudgeNeeds{.fds = {}, .folders = {folder}}; });
};

TEST_F(JudgeThatKeepsATurn, HasItStillForItsNextJob) {
  const pid_t pid = PidIn(Judge("first"));
  EXPECT_TRUE(IsKept());
  EXPECT_EQ(PidIn(Judge("second")), pid);
  EXPECT_TRUE(IsKept());
}

TEST_F(JudgeThatKeepsATurn, GivesWayAtOnce) {
  for (int i = 0; i < 3; ++i) {
    Judge("job");
    ASSERT_TRUE(IsKept());
    EXPECT_LT(Wait(), kAtOnce);
    EXPECT_FALSE(IsKept());
  }
}

TEST_F(JudgeThatKeepsATurn, GivesWayWhileNobodyReadsItsReply) {
  Submit("long");
  while (!pool_->Next(0.01) && !IsKept()) continue;  // hands it over
  EXPECT_LT(Wait(), kAtOnce);
  EXPECT_GT(pool_->Next(30).value().verdict.at("reason").get<std::string>().size(), size_t{1} << 20);
}

TEST_F(JudgeThatKeepsATurn, GivesWayBehindAJobThatThrows) {
  Judge("job");
  EXPECT_EQ(Judge("throw").outcome, "infra_error");
  EXPECT_TRUE(IsKept());
  EXPECT_LT(Wait(), kAtOnce);
}

TEST_F(JudgeThatKeepsATurn, TakesNobodyAlongWhenItIsKilled) {
  const pid_t pid = PidIn(Judge("job"));
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  EXPECT_LT(Wait(), kAtOnce);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, pid, &ended, WEXITED | WNOWAIT), 0);
  const JudgeReply next = Judge("next");
  EXPECT_EQ(next.outcome, "passed");
  EXPECT_NE(PidIn(next), pid);
}

TEST_F(JudgeThatKeepsATurn, GivesItBackInOrderWhenThePoolEnds) {
  Judge("job");
  EXPECT_EQ(Ended(), "");
  pool_.reset();
  EXPECT_EQ(Ended(), "1");  // it was kept to the end
  EXPECT_FALSE(IsKept());
}

}  // namespace
}  // namespace tritogen
