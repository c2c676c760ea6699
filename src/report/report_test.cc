#include "report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "base/atomic_file.h"
#include "base/process.h"
#include "base/temp_dir.h"
#include "report/verdict_test_data.h"

namespace tritogen {
namespace {

// Reads a page as a browser would: every element that is opened is closed, no id twice, nothing is fetched or
// run.
constexpr const char* kCheck = R"(
import html.parser, sys
class Page(html.parser.HTMLParser):
    open = []
    def check(self, tag, attributes):
        assert tag not in ("script", "iframe", "img", "link", "object"), tag
        for name, value in ((name, value or "") for name, value in attributes):
            assert not name.startswith("on") and name not in ("src", "href", "style"), (tag, name)
            assert tag == "svg" or "nan" not in value and "inf" not in value, (tag, name, value)
    def handle_starttag(self, tag, attributes):
        self.check(tag, attributes)
        if tag != "meta":
            self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        self.check(tag, attributes)
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.open, self.getpos())
page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
page.close()
assert not page.open, page.open
)";

// The page, after a check of its form.
std::string Rendered(const ReportInput& input) {
  const std::string page = RenderReport(input);
  TempDir folder;
  WriteFileAtomic(folder.path() / "page.html", page);
  const ProcessResult checked = RunProcess({"python3", "-c", kCheck, folder.path() / "page.html"});
  EXPECT_TRUE(checked.ok()) << checked.error;
  return page;
}

ReportInput InputFor(nlohmann::json verdict) {
  return {.command = "verify",
          .task = "mlp.py",
          .verdict = std::move(verdict),
          .sources = {{"Candidate", "import torch\nx = 1\nraise ValueError\n"}},
          .versions = {"Tritogen 0.1.0", "torch 2.11.0"}};
}

std::vector<std::string> Sections(const std::string& page) {
  std::vector<std::string> titles;
  for (size_t at = page.find("<h2>"); at != std::string::npos; at = page.find("<h2>", at + 1))
    titles.push_back(page.substr(at + 4, page.find("</h2>", at) - at - 4));
  return titles;
}

bool Contains(const std::string& page, const std::string& piece) {
  return page.find(piece) != std::string::npos;
}

using Titles = std::vector<std::string>;

TEST(Report, ShowsAVerdictWithoutTimes) {
  const std::string page = Rendered(InputFor(PassedVerdict()));
  EXPECT_EQ(Sections(page), (Titles{"Error", "How it was verified", "Source"}));
  for (const char* piece : {"badge good\">passed<", "right in 8 trials", "62.5 % of the budget", "2.5 × 10⁻⁴",
                            "75 %", "CPU tile machine", "<dt>Seed</dt><dd>7</dd>", "00ff",
                            "inputs were hardened", "Tritogen 0.1.0 · torch 2.11.0", "output 1"}) {
    EXPECT_TRUE(Contains(page, piece)) << piece;
  }
  EXPECT_FALSE(Contains(page, "µs"));
}

TEST(Report, SaysWhenAnEarlierRunJudged) {
  nlohmann::json verdict = TimedVerdict();
  EXPECT_FALSE(Contains(Rendered(InputFor(verdict)), "earlier run"));
  verdict["made"] = "2026-01-31T12:00:00Z";
  EXPECT_TRUE(Contains(Rendered(InputFor(verdict)), "2026-01-31T12:00:00Z, by an earlier run; times are"));
}

TEST(Report, ShowsTimesAndTheRoofWhereAGpuTookThem) {
  const std::string page = Rendered(InputFor(TimedVerdict()));
  EXPECT_EQ(Sections(page), (Titles{"Error", "Time", "Roofline", "How it was verified", "Source"}));
  for (const char* piece : {"1.80 ×", "1.05 ×", "12.3 µs (12.1 – 12.6)", "eager fp32", "torch.compile",
                            "where eager fp32 took 22.4 µs; compiled in 6.5 s", "NVIDIA H200, driver 580",
                            "1980 MHz (1965 – 1980)", "sw_power_cap", "floor 7.00 µs", "51 TFLOP/s",
                            "4.8 TB/s", "At 56.7 % of the roof", "1: 12.3 µs"}) {
    EXPECT_TRUE(Contains(page, piece)) << piece;
  }
  EXPECT_FALSE(Contains(page, "CPU tile machine"));
  nlohmann::json untimed = PassedVerdict();
  untimed["timing"] = nullptr;
  EXPECT_EQ(Sections(Rendered(InputFor(untimed))), (Titles{"Error", "How it was verified", "Source"}));
}

TEST(Report, ShowsWhatWentWrongAndWhere) {
  const std::string page = Rendered(InputFor(FailedVerdict()));
  EXPECT_EQ(Sections(page), (Titles{"Evidence", "How it was verified", "Source"}));
  EXPECT_TRUE(Contains(page, "badge bad\">runtime error<"));
  EXPECT_TRUE(Contains(page, "<pre>Traceback:\n  no luck</pre>"));
  EXPECT_TRUE(Contains(page, "<span class=\"line marked\"><i class=\"keyword\">raise</i>"));
}

TEST(Report, ShowsWhatInputsWereTriedTheHardestFirst) {
  const std::string page = Rendered(InputFor(PassedVerdict()));
  const size_t spread = page.find("slices over three orders of magnitude"),
               generated = page.find("as the file generates them"), binary = page.find(">exact<");
  ASSERT_NE(binary, std::string::npos);
  EXPECT_LT(spread, generated);
  EXPECT_LT(generated, binary);
  EXPECT_TRUE(Contains(page, ">62.5 %<")) << "the largest of all outputs";
}

TEST(Report, ShowsErrorsThatAreOverTheBudgetOrNoNumbers) {
  nlohmann::json verdict = PassedVerdict();
  verdict["outputs"][0]["error"] = 1e-3;
  verdict["outputs"][1]["error"] = nullptr;
  const std::string page = Rendered(InputFor(verdict));
  EXPECT_TRUE(Contains(page, "100 × the budget"));
  EXPECT_TRUE(Contains(page, ">NaN or Inf<"));
  verdict["outputs"][0]["budget_used"]["binary"] = nullptr;
  EXPECT_TRUE(Contains(Rendered(InputFor(verdict)), ">beyond<"));
  verdict = PassedVerdict();
  for (auto& output : verdict["outputs"]) output["error"] = output["eager_error"] = output["budget"] = 0;
  EXPECT_FALSE(Contains(Rendered(InputFor(verdict)), "<svg"))
      << "a logarithmic axis has no place for zeros alone";
}

TEST(Report, ShowsTheCandidatesOfAConversion) {
  ReportInput input = InputFor(TimedVerdict());
  input.command = "convert";
  input.candidates = {{"teacher", "rows", TimedVerdict(), true}, {"teacher", "columns", FailedVerdict()}};
  input.remarks = {"a remark"};
  std::string page = Rendered(input);
  EXPECT_EQ(Sections(page)[0], "Candidates");
  for (const char* piece :
       {"<tr class=\"marked\"><td class=\"text\">rows</td>", "line 3: no luck", "a remark"})
    EXPECT_TRUE(Contains(page, piece)) << piece;
  input.verdict = nullptr;
  input.sources.clear();
  page = Rendered(input);
  EXPECT_EQ(Sections(page), (Titles{"Candidates"}));
  EXPECT_TRUE(Contains(page, "No candidate passed"));
}

// Replaces every text inside by `text`, keys too.
nlohmann::json Poisoned(const nlohmann::json& value, const std::string& text) {
  if (value.is_string()) return text;
  nlohmann::json out = value;
  if (value.is_array()) {
    for (auto& item : out) item = Poisoned(item, text);
  } else if (value.is_object()) {
    for (auto& [key, item] : out.items()) item = Poisoned(item, text);
  }
  return out;
}

TEST(Report, EscapesEveryTextOfOthers) {
  const std::string attack = "</pre></style><script>alert(1)</script>\"><img src=x onerror='y'>\xff";
  nlohmann::json verdict = Poisoned(TimedVerdict(), attack);
  verdict["evidence"] = {{attack, attack}, {"nested", {{attack, {attack, 1}}}}, {"lines", "a\n" + attack}};
  const ReportInput input{.command = "convert",
                          .task = attack,
                          .verdict = verdict,
                          .candidates = {{attack, attack, verdict, true}},
                          .remarks = {attack},
                          .sources = {{attack, attack + "\n'''" + attack + "\n# " + attack}},
                          .versions = {attack}};
  const std::string page = Rendered(input);
  EXPECT_FALSE(Contains(page, "<script"));
  EXPECT_FALSE(Contains(page, "<img"));
  EXPECT_FALSE(Contains(page, "\xff"));
}

// Replaces each field in turn by something of another type.
TEST(Report, BearsVerdictsOfAnyForm) {
  const nlohmann::json whole = TimedVerdict().flatten();
  for (const auto& [path, value] : whole.items()) {
    for (const nlohmann::json& wrong : {nlohmann::json(), nlohmann::json("text"), nlohmann::json(-1.5)}) {
      nlohmann::json verdict = TimedVerdict();
      verdict[nlohmann::json::json_pointer(path)] = wrong;
      EXPECT_NO_THROW(RenderReport(InputFor(verdict))) << path << " = " << wrong;
    }
  }
  for (const char* text :
       {"null", "[]", "3", "{}", R"({"timing": {}, "outputs": [{}], "evidence": []})",
        R"({"timing": {"candidate": 1, "baselines": {}, "clocks": 3, "samples_us": {}}, "outputs": {}})"})
    EXPECT_NO_THROW(Rendered(InputFor(nlohmann::json::parse(text)))) << text;
}

}  // namespace
}  // namespace tritogen
