// For tests: a judge and a teacher that need no Python.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/sha256.h"
#include "base/temp_dir.h"
#include "data/build.h"

namespace tritogen::data {

// Answers each program `count` times; the texts say what FakeJudge shall do with them.
class FakeTeacher : public Proposer {
 public:
  std::string_view name() const override { return "fake"; }
  std::vector<Candidate> Propose(const ProposeRequest& request) override {
    if (request.program->nodes.size() % 5 == 4) return {};
    std::vector<Candidate> answers;
    for (int i = 0; i < request.count; ++i) {
      answers.push_back({.proposer = "fake",
                         .strategy = "way " + std::to_string(i),
                         .plan = "plan",
                         .source = request.reference_source + (i == 3 ? "wrong" : "right")});
    }
    return answers;
  }
};

// "right" passes, "wrong" does not, answers to one reference have the same Plan from the third on.
inline Judgement FakeJudgement(const JudgeRequest& request, const FindVerdict&) {
  Judgement judgement;
  const std::string& text = request.candidate.text;
  judgement.verdict.outcome = text.ends_with("wrong") ? Outcome::kWrongValues : Outcome::kPassed;
  judgement.verdict.reason = "because";
  judgement.verdict.plan_hash = Sha256Hex(text);
  judgement.verdict.work = {1, 1};
  judgement.verdict.seconds = static_cast<double>(rand());  // must not show
  return judgement;
}

inline JudgePool FakePool(int judges) {
  return {[] { return FakeJudgement; }, judges, 60};
}

inline BuildOptions SmallOptions() {
  return ReadBuildOptions(
      "seed = 3\nshard_programs = 8\n[programs]\nmax_elements = 4096\n[[level]]\nlevel = 1\nprograms = 20\n"
      "operators = \"pointwise\"\n[[level]]\nlevel = 2\nprograms = 10\noperators = \"pointwise\"\n"
      "[[stage]]\nname = \"filter\"\n",
      "small.toml");
}

// What the UserError says that `run` ends with.
template <typename F>
std::string ErrorOf(F run) {
  try {
    run();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tritogen::data
