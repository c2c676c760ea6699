#include "eval/score.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "report/eval_report.h"

namespace tritogen::eval {
namespace {

using nlohmann::json;

json Answer(const std::string& verdict, const std::string& plan = "",
            const std::string& proposer = "policy") {
  json answer = {{"proposer", proposer}, {"number", 0}, {"verdict", verdict}, {"tokens", 10}};
  if (!plan.empty()) answer["plan_hash"] = plan;
  return answer;
}

json Result(const std::string& group, std::vector<json> answers, std::vector<std::string> ops = {"relu"}) {
  return {{"id", group + "/1"}, {"group", group}, {"ops", ops}, {"answers", answers}};
}

TEST(Score, EstimatesByProposerGroupAndOperator) {
  Score score;
  score.Add(Result("level 1", {Answer("passed", "a"), Answer("passed", "b"), Answer("wrong_values")}));
  score.Add(Result("level 2", {Answer("wrong_values"), Answer("passed", "a"), Answer("passed", "a")},
                   {"relu", "sum"}));
  score.Add(Result("level 2",
                   {Answer("killed"), Answer("killed"), Answer("killed"), Answer("passed", "t", "teacher")},
                   {"sum", "sum"}));
  const json all = score.ToJson();
  const json& policy = all["proposers"]["policy"];
  EXPECT_EQ(policy["all"]["tasks"], 3);
  EXPECT_NEAR(policy["all"]["pass"]["1"]["value"].get<double>(), 4.0 / 9, 1e-9);
  EXPECT_NEAR(policy["groups"]["level 1"]["pass"]["2"]["value"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(policy["groups"]["level 2"]["pass"]["3"]["value"].get<double>(), 0.5, 1e-9);
  EXPECT_EQ(policy["operators"]["sum"]["tasks"], 2);
  EXPECT_EQ(policy["verdicts"], (json{{"passed", 4}, {"wrong_values", 2}, {"killed", 3}}));
  EXPECT_NEAR(policy["all"]["plans"]["mean"].get<double>(), 1.5, 1e-9);
  EXPECT_NEAR(policy["all"]["plans"]["several"]["value"].get<double>(), 1.0 / 3, 1e-9);
  EXPECT_EQ(policy["tokens_an_answer"], 10);
  EXPECT_EQ(all["proposers"]["teacher"]["all"]["answers"], 1);
}

TEST(Score, RepairsCountApart) {
  Score score;
  json mended = Answer("passed", "a"), not_mended = Answer("no_answer");
  mended["mends"] = 0;
  not_mended["mends"] = 1;
  not_mended["rule"] = "no_code";
  score.Add(Result("level 1", {Answer("wrong_values"), Answer("wrong_dtype"), mended, not_mended}));
  const json policy = score.ToJson()["proposers"]["policy"];
  EXPECT_EQ(policy["all"]["pass"]["1"]["value"], 0);
  EXPECT_EQ(policy["all"]["answers"], 2);
  EXPECT_EQ(policy["all"]["after_repair"]["value"], 0.5);
  EXPECT_EQ(policy["repair_verdicts"], (json{{"passed", 1}, {"no_answer: no_code", 1}}));
}

json Timed(double speedup, const std::string& verdict = "passed") {
  json answer = Answer(verdict, "a");
  answer["speedup"] = speedup;
  return answer;
}

TEST(Score, SpeedIsOfAnswersThatPass) {
  Score score;
  score.Add(Result("level 1", {Timed(1.5), Timed(0.5), Timed(9, "wrong_values")}));
  score.Add(Result("level 1", {Timed(6), Timed(1), Answer("passed", "b")}));
  score.Add(Result("level 1", {Answer("wrong_values"), Answer("killed"), Answer("killed")}));
  const json all = score.ToJson()["proposers"]["policy"]["all"];
  const auto fast = [&](const char* p) { return all["fast"][p]["value"].get<double>(); };
  EXPECT_NEAR(fast("0.5"), 3.0 / 9, 1e-9);
  EXPECT_NEAR(fast("1"), 2.0 / 9, 1e-9);
  EXPECT_NEAR(fast("2"), 1.0 / 9, 1e-9);
  EXPECT_NEAR(all["speedup"]["median"].get<double>(), 3.75, 1e-9);
  EXPECT_NEAR(all["speedup"]["geometric_mean"].get<double>(), 3, 1e-9);
  EXPECT_EQ(all["speedup"]["tasks"], 2);
}

TEST(Score, NoTimesNoSpeed) {
  Score score;
  score.Add(Result("level 1", {Answer("passed", "a"), Timed(0), Timed(2, "wrong_values")}));
  EXPECT_FALSE(score.ToJson()["proposers"]["policy"]["all"].contains("fast"));
  EXPECT_FALSE(score.ToJson()["proposers"]["policy"]["all"].contains("speedup"));
}

TEST(Score, TasksThatCannotBeJudgedCountNowhere) {
  Score score;
  json broken = Result("level 1", {Answer("infra_error")});
  broken["reference_failed"] = "it is not deterministic";
  score.Add(broken);
  EXPECT_EQ(score.ToJson()["left_out"], 1);
  EXPECT_EQ(score.ToJson()["tasks"], 0);
  EXPECT_TRUE(score.ToJson()["proposers"].empty());
}

TEST(Score, RefusesWhatIsNoResult) {
  for (const char* text :
       {"1", "{}", R"({"group": "a", "ops": [], "answers": [{}]})",
        R"({"group": "a", "ops": [1], "answers": []})",
        R"({"group": "a", "ops": [], "answers": [{"proposer": "p", "verdict": 3}]})",
        R"({"group": "a", "ops": [], "answers": [{"proposer": "p", "verdict": "passed", "tokens": -1}]})"})
    EXPECT_THROW(Score().Add(json::parse(text)), FormatError) << text;
}

TEST(EvalReport, ShowsWhatThereIsAndEscapesIt) {
  Score score;
  json wrong = Answer("rejected");
  wrong["rule"] = "<script>";
  wrong["reason"] = "a & b";
  score.Add(Result("level <1>", {Timed(1.25), wrong}));
  const std::string page = RenderEvalReport("synth & co", score.ToJson(), {"torch"});
  EXPECT_NE(page.find("level &lt;1&gt;, pass@2"), std::string::npos);
  EXPECT_NE(page.find("rejected: &lt;script&gt;"), std::string::npos);
  EXPECT_NE(page.find("50.0 %"), std::string::npos);
  EXPECT_NE(page.find("level &lt;1&gt;, more than 0.8 times"), std::string::npos);
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_NE(RenderEvalReport("nothing", nlohmann::ordered_json(), {}).find("nothing"), std::string::npos);
  EXPECT_NE(RenderEvalReport("odd", {{"proposers", {{"p", 3}}}, {"remarks", 7}}, {}).find("odd"),
            std::string::npos);
}

}  // namespace
}  // namespace tritogen::eval
