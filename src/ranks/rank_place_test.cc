#include "ranks/rank_place.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace tritogen {
namespace {

RankPlace Find(const std::map<std::string, std::string>& variables) {
  return FindRankPlace([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(RankPlaceTest, OneProcessAloneIsOneRank) {
  EXPECT_EQ(Find({}).size, 1);
  EXPECT_EQ(Find({{"SLURM_NTASKS", "8"}}).size, 1) << "a shell in an allocation is no task";
  EXPECT_EQ(Find({{"WORLD_SIZE", "1"}, {"RANK", "0"}}).size, 1);
}

TEST(RankPlaceTest, ReadsTorchrun) {
  const RankPlace place = Find({{"RANK", "5"},
                                {"WORLD_SIZE", "8"},
                                {"LOCAL_RANK", "1"},
                                {"MASTER_ADDR", "a"},
                                {"MASTER_PORT", "1234"},
                                {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.local, 1);
  EXPECT_EQ(place.address, "a");
  EXPECT_EQ(place.port, 1234);
  EXPECT_TRUE(place.store_is_there);
}

TEST(RankPlaceTest, ReadsSlurm) {
  const RankPlace place = Find({{"SLURM_PROCID", "3"},
                                {"SLURM_NTASKS", "4"},
                                {"SLURM_LOCALID", "1"},
                                {"SLURM_JOB_NODELIST", "gpu[07-08]"},
                                {"SLURM_JOB_ID", "12345"}});
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.local, 1);
  EXPECT_EQ(place.address, "gpu07");
  EXPECT_EQ(place.port, 29500 + 2345);
  EXPECT_FALSE(place.store_is_there);
}

TEST(RankPlaceTest, FindsTheFirstNode) {
  EXPECT_EQ(FirstNode("node"), "node");
  EXPECT_EQ(FirstNode("node3,node[5-9]"), "node3");
  EXPECT_EQ(FirstNode("node[003-007,9],other"), "node003");
  EXPECT_EQ(FirstNode("node[3]"), "node3");
  EXPECT_THROW(FirstNode("node[3"), UserError);
}

TEST(RankPlaceTest, RefusesWhatDoesNotFitTogether) {
  EXPECT_THROW(Find({{"WORLD_SIZE", "8"}}), UserError);
  EXPECT_THROW(Find({{"WORLD_SIZE", "2"}, {"RANK", "2"}, {"LOCAL_RANK", "0"}, {"MASTER_ADDR", "a"}}),
               UserError);
  EXPECT_THROW(Find({{"WORLD_SIZE", "2"}, {"RANK", "1"}, {"LOCAL_RANK", "0"}}), UserError);
}

}  // namespace
}  // namespace tritogen
