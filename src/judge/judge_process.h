// The processes of a JudgePool: each makes its judge and answers messages with it, one at a time, until the
// pool closes its end.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "judge/judge.h"
#include "judge/judge_jail.h"

namespace tritogen {

// What a judge does with one request. Made in the judge's own process, so that what it keeps is its own.
using JudgeFunction = std::function<Judgement(const JudgeRequest&, const FindVerdict&)>;
using JudgeMaker = std::function<JudgeFunction()>;
// What the second crew does with what a Judgement hands over.
using GpuJudgeFunction = std::function<GpuJudge::Result(GpuJob)>;
using GpuJudgeMaker = std::function<GpuJudgeFunction(int number)>;  // of the process, from 0

// `want_plan`: the reply brings the candidate's Plan.
nlohmann::json ToMessage(const JudgeRequest& request, bool want_plan);

// For forked processes; `fd` is the pool's other end. Replies are {"verdict", "hurried", "reference_failed",
// "last" (this process ends behind it), "again" (another one should try the same job)} or, of a judge that
// hands over, {"handover", "group", "large", "last"}, with "jail_notes", and "plan" where it is wanted.
// Before it a judge may ask once {"find": key} and gets {"found": a verdict or null}.
[[noreturn]] void LiveAsJudge(const JudgeMaker& make, int fd, const JudgeNeeds& needs) noexcept;
[[noreturn]] void LiveAsGpuJudge(const GpuJudgeMaker& make, int number, int fd,
                                 const JudgeNeeds& needs) noexcept;

}  // namespace tritogen
