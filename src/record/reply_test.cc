#include "record/reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/frame.h"

namespace tritogen {
namespace {

using Kind = RecordFailure::Kind;
using testing::HasSubstr;

RecordFailure Judge(const ChildEnd& end) {
  auto result = ReadChildEnd(end, ChildLimits{.wall_seconds = 7, .cpu_seconds = 5});
  EXPECT_TRUE(std::holds_alternative<RecordFailure>(result));
  return std::get<RecordFailure>(result);
}

RecordFailure JudgeFrame(const nlohmann::json& reply) {
  ChildEnd end;
  end.reply = EncodeFrame(reply);
  return Judge(end);
}

TEST(ReplyTest, TakesTheRecordersAccount) {
  const RecordFailure failure = JudgeFrame({{"ok", false},
                                            {"kind", "rejected"},
                                            {"rule", "host_read"},
                                            {"message", "item() reads a value"},
                                            {"line", 12},
                                            {"trace", "Traceback"}});
  EXPECT_EQ(failure.kind, Kind::kRejected);
  EXPECT_EQ(failure.rule, "host_read");
  EXPECT_EQ(failure.message, "item() reads a value");
  EXPECT_EQ(failure.line, 12);
  EXPECT_EQ(failure.trace, "Traceback");
  EXPECT_EQ(JudgeFrame({{"ok", false}, {"kind", "compile_error"}, {"message", "m"}}).kind,
            Kind::kCompileError);
}

TEST(ReplyTest, PlansOfSeveralOrNothing) {
  auto count = [](const nlohmann::json& reply) {
    ChildEnd end;
    end.reply = EncodeFrame(reply);
    return ReadPlans(end).size();
  };
  EXPECT_EQ(count({{"replies", {{{"ok", false}}, 7, {{"ok", true}, {"plan", {1, 2}}}}}}), 3);
  EXPECT_EQ(count({{"replies", 7}}), 0);
  EXPECT_EQ(count({{"ok", true}}), 0);
  ChildEnd end;
  end.reply = EncodeFrame({{"replies", {{{"ok", false}}}}});
  EXPECT_FALSE(ReadPlans(end).at(0).has_value());
  end.status = SIGKILL;
  EXPECT_TRUE(ReadPlans(end).empty());
  EXPECT_TRUE(ReadPlans({.reply = "no frame"}).empty());
}

TEST(ReplyTest, HostileAccountsAreForgedOrTamed) {
  for (const nlohmann::json& reply : std::vector<nlohmann::json>{
           nlohmann::json::object(),
           {{"ok", 1}},
           {{"ok", true}},
           {{"ok", true}, {"plan", {1, 2}}},
           {{"ok", false}},
           {{"ok", false}, {"kind", "passed"}},
           {{"ok", false}, {"kind", "rejected"}},
           {{"ok", false}, {"kind", "rejected"}, {"rule", "two words"}},
           {{"ok", false}, {"kind", 5}},
       }) {
    EXPECT_EQ(JudgeFrame(reply).rule, "forged_frame") << reply;
  }
  const RecordFailure odd =
      JudgeFrame({{"ok", false}, {"kind", "runtime_error"}, {"message", 3}, {"line", -5}, {"trace", {1}}});
  EXPECT_EQ(odd.kind, Kind::kRuntimeError);
  EXPECT_FALSE(odd.message.empty());
  EXPECT_EQ(odd.line, 0);
  EXPECT_LT(JudgeFrame({{"ok", false}, {"kind", "runtime_error"}, {"message", std::string(1 << 20, 'x')}})
                .message.size(),
            3000);
}

TEST(ReplyTest, AnAnswerCountsOnlyFromAChildThatEndedWell) {
  ChildEnd end;
  end.reply = EncodeFrame({{"ok", false}, {"kind", "compile_error"}, {"message", "m"}});
  end.status = SIGSEGV;
  EXPECT_EQ(Judge(end).kind, Kind::kRuntimeError);
  EXPECT_THAT(Judge(end).message, HasSubstr("signal 11"));
  end.status = 3 << 8;
  EXPECT_EQ(Judge(end).rule, "exit");
  end.how = ChildEnd::How::kTimedOut;
  EXPECT_EQ(Judge(end).kind, Kind::kTimeout);
  EXPECT_THAT(Judge(end).message, HasSubstr("7 s"));
}

TEST(ReplyTest, TellsCpuLimitFromOutOfMemory) {
  ChildEnd end;
  end.status = SIGKILL;
  end.cpu_seconds = 1;
  EXPECT_EQ(Judge(end).kind, Kind::kKilled);
  end.cpu_seconds = 5.01;
  EXPECT_EQ(Judge(end).kind, Kind::kTimeout);
  EXPECT_THAT(Judge(end).message, HasSubstr("CPU"));
}

TEST(ReplyTest, OurOwnTroubleIsInfraError) {
  ChildEnd end;
  end.problem = "seccomp: denied";
  end.how = ChildEnd::How::kNotStarted;
  EXPECT_EQ(Judge(end).kind, Kind::kInfraError);
  EXPECT_THAT(Judge(end).message, HasSubstr("seccomp: denied"));
  end.how = ChildEnd::How::kZygoteEnded;
  EXPECT_EQ(Judge(end).kind, Kind::kInfraError);
}

}  // namespace
}  // namespace tritogen
