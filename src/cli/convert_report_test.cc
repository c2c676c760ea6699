#include "cli/convert_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "report/verdict_test_data.h"

namespace tritogen {
namespace {

ConvertReport ReportOf(std::vector<nlohmann::json> verdicts) {
  ConvertReport report{.file = "mlp.py", .seed = 7};
  for (size_t i = 0; i < verdicts.size(); ++i) {
    report.rows.push_back(
        {{.proposer = "teacher", .strategy = "way " + std::to_string(i)}, std::move(verdicts[i])});
  }
  return report;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ConvertReport, ShowsErrorsBesideTheBudgetAndWhyACandidateFailed) {
  ConvertReport report = ReportOf({PassedVerdict(), FailedVerdict()});
  report.out = "mlp_triton.py";
  report.chosen = 0;
  report.remarks = {"a remark"};
  const std::vector<std::string> lines = Lines(report.ToText());
  ASSERT_EQ(lines.size(), 7u) << report.ToText();
  for (const char* piece : {"teacher", "way 0", "passed", "2.50e-04", "2.00e-04", "4.00e-04", "75%"})
    EXPECT_NE(lines[1].find(piece), std::string::npos) << piece;
  for (const char* piece : {"way 1", "runtime_error", "-"})
    EXPECT_NE(lines[2].find(piece), std::string::npos) << piece;
  EXPECT_EQ(lines[3], "          line 3: no luck");
  EXPECT_EQ(lines[4], "a remark");
  EXPECT_EQ(lines[6], "wrote mlp_triton.py: way 0 (seed 7)");
}

TEST(ConvertReport, SaysHowManyWereJudgedByEarlierRuns) {
  nlohmann::json cached = PassedVerdict();
  cached["made"] = "2026-01-31T12:00:00Z";
  EXPECT_NE(ReportOf({cached, PassedVerdict()}).ToText().find("1 of them judged by earlier runs"),
            std::string::npos);
  EXPECT_EQ(ReportOf({PassedVerdict()}).ToText().find("earlier runs"), std::string::npos);
}

TEST(ConvertReport, HasATimeColumnOnlyWhereAGpuTimedSomething) {
  const std::string without = ReportOf({PassedVerdict()}).ToText();
  EXPECT_EQ(without.find("time"), std::string::npos) << without;
  const std::vector<std::string> lines = Lines(ReportOf({TimedVerdict(), FailedVerdict()}).ToText());
  EXPECT_TRUE(lines[0].ends_with("time  vs eager  vs compile")) << lines[0];
  EXPECT_TRUE(lines[1].ends_with("12.3 us     1.80x       1.05x")) << lines[1];
  EXPECT_TRUE(lines[2].ends_with("-         -           -")) << lines[2];
  EXPECT_EQ(lines[0].size(), lines[1].size());
}

TEST(ConvertReport, SaysWhenNothingWasWritten) {
  EXPECT_NE(ReportOf({FailedVerdict()}).ToText().find("none was written (seed 7)"), std::string::npos);
  EXPECT_EQ(ReportOf({}).ToText(), "no proposer had a candidate for mlp.py\n");
}

TEST(ConvertReport, JsonHoldsEveryVerdictWhole) {
  ConvertReport report = ReportOf({PassedVerdict(), FailedVerdict()});
  nlohmann::json json = report.ToJson();
  EXPECT_EQ(json["out"], nullptr);
  EXPECT_EQ(json["chosen"], nullptr);
  EXPECT_EQ(json["seed"], 7);
  ASSERT_EQ(json["candidates"].size(), 2u);
  EXPECT_EQ(json["candidates"][0]["verdict"], PassedVerdict());
  EXPECT_EQ(json["candidates"][1]["strategy"], "way 1");
  report.out = "x.py";
  report.chosen = 0;
  EXPECT_EQ(report.ToJson()["out"], "x.py");
  EXPECT_EQ(report.ToJson()["chosen"], "way 0");
}

TEST(ConvertReport, HtmlShowsTheModuleOrThatThereIsNone) {
  ConvertReport report = ReportOf({PassedVerdict(), FailedVerdict()});
  std::string page = report.ToHtml("original = 1\n");
  EXPECT_NE(page.find("No candidate passed"), std::string::npos);
  EXPECT_EQ(page.find("Shipped module"), std::string::npos);
  EXPECT_NE(page.find("original"), std::string::npos);
  report.out = "mlp_triton.py";
  report.module = "shipped = 1\n";
  report.chosen = 0;
  page = report.ToHtml("original = 1\n");
  EXPECT_NE(page.find("badge good"), std::string::npos);
  EXPECT_NE(page.find("Shipped module"), std::string::npos);
  EXPECT_NE(page.find("way 1"), std::string::npos);
}

TEST(ModuleHeader, SaysHowItWasVerified) {
  auto header = [](const nlohmann::json& verdict) {
    std::string text;
    for (const std::string& line :
         ModuleHeader("folder/mlp.py", {.proposer = "teacher", .strategy = "rows"}, verdict))
      text += line + "\n";
    return text;
  };
  const std::string untimed = header(PassedVerdict());
  for (const char* piece : {"mlp.py with Triton kernels", "teacher (rows)", "seed 7", "no GPU took part",
                            "2.50e-04", "75% of the original's", "torch 2."}) {
    EXPECT_NE(untimed.find(piece), std::string::npos) << piece;
  }
  const std::string timed = header(TimedVerdict());
  EXPECT_NE(timed.find("NVIDIA H200, seed 7. Median time 12.3 us, 1.80 times as fast"), std::string::npos)
      << timed;
  EXPECT_NE(timed.find("1.05 times as fast as torch.compile."), std::string::npos) << timed;
  EXPECT_EQ(timed.find("no GPU"), std::string::npos);
}

}  // namespace
}  // namespace tritogen
