// What a Proposer that answers one request at a time has from its base.
#include "propose/proposer.h"

#include <gtest/gtest.h>

namespace tritogen {
namespace {

class Faulty : public Proposer {
 public:
  std::string_view name() const override { return "faulty"; }
  std::vector<Candidate> Propose(const ProposeRequest& request) override {
    TRITOGEN_CHECK(request.count < 8);
    return {{.proposer = "faulty"}};
  }
};

TEST(Proposer, AFaultInOneProgramLeavesTheOthers) {
  Faulty proposer;
  proposer.Begin("bad", {.count = 8});
  proposer.Begin("good", {.count = 1});
  const auto bad = proposer.Next(0), good = proposer.Next(0);
  ASSERT_TRUE(bad && good);
  EXPECT_EQ(bad->id, "bad");
  EXPECT_TRUE(bad->candidates.empty() && bad->last);
  EXPECT_EQ(good->candidates.size(), 1u);
  const std::vector<std::string> remarks = proposer.TakeRemarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("check failed: request.count < 8"), std::string::npos) << remarks[0];
  EXPECT_TRUE(proposer.TakeRemarks().empty());
}

}  // namespace
}  // namespace tritogen
