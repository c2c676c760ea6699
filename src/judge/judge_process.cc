#include "judge/judge_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <utility>

#include "judge/judge_channel.h"
#include "judge/options_json.h"
#include "plan/serialize.h"

namespace tritogen {
namespace {

using nlohmann::json;

json ToMessage(const SourceFile& source) {
  return {{"text", source.text}, {"entry", source.entry}, {"is_function", source.is_function}};
}

SourceFile SourceFrom(const json& message) {
  return {message.at("text"), message.at("entry"), message.at("is_function")};
}

JudgeRequest RequestFrom(const json& message) {
  JudgeRequest request{SourceFrom(message.at("reference")),
                       SourceFrom(message.at("candidate")),
                       OptionsFromJson(message.at("options")),
                       {}};
  for (const json& file : message.at("together")) request.together.push_back(SourceFrom(file));
  return request;
}

struct Answer {
  json reply;
  Idle idle;  // what to do until the next message is there
};

// `last`: this process ends behind it; `again`: another one should try the same job.
json ReplyOf(const Verdict& verdict, bool reference_failed, bool last, bool again = false) {
  return {{"verdict", verdict.ToJson()},
          {"hurried", verdict.hurried},
          {"reference_failed", reference_failed},
          {"last", last},
          {"again", again}};
}

// One message at a time until the pool closes its end.
void ServeMessages(int fd, const std::function<Answer(const json&)>& serve) {
  Idle idle;  // stays that of the last message when one goes wrong: something may be kept still
  while (auto message = ReceiveFrame(fd, &idle)) {
    Answer answer;
    try {
      answer = serve(*message);
      idle = std::move(answer.idle);
    } catch (const std::exception& error) {
      Verdict verdict;
      verdict.reason = fmt::format("a fault of Tritogen: {}", error.what());
      answer.reply = ReplyOf(verdict, false, /*last=*/false);
    }
    if (!SendFrame(fd, answer.reply, &idle)) break;
  }
}

std::optional<Verdict> Find(int fd, const std::string& key) {
  std::optional<json> answer;
  if (SendFrame(fd, {{"find", key}})) answer = ReceiveFrame(fd);
  if (!answer || answer->at("found").is_null()) return std::nullopt;  // a pool that is gone wants none
  return Verdict::FromJson(answer->at("found"));
}

// A job that is handed over travels as bytes, which the pool passes on without looking into them.
Answer AnswerOf(const JudgeFunction& judge, int fd, const json& message) {
  const Judgement judgement =
      judge(RequestFrom(message), [fd](const std::string& key) { return Find(fd, key); });
  json reply;
  if (judgement.handover) {
    const std::string job = Encode(*judgement.handover);
    reply = {{"handover", json::binary({job.begin(), job.end()})},
             {"group", judgement.handover->reference_hash},
             {"large", judgement.handover->large},
             {"last", judgement.lost}};
  } else {
    const bool again = judgement.lost && judgement.verdict.outcome == Outcome::kInfraError;
    reply = ReplyOf(judgement.verdict, judgement.reference_failed, judgement.lost, again);
  }
  reply["jail_notes"] = judgement.jail_notes;
  if (message.at("want_plan") && judgement.plan) reply["plan"] = ToJson(*judgement.plan);
  return {std::move(reply), nullptr};
}

Answer AnswerOf(const GpuJudgeFunction& judge, int, const json& message) {
  const auto& bytes = message.at("handover").get_binary();
  GpuJudge::Result result = judge(DecodeGpuJob({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  return {ReplyOf(result.verdict, result.reference_failed, result.last), std::move(result.idle)};
}

// Makes a judge at once. Where that fails the first job is given back, and the process ends: the next one may
// have more luck, with memory for instance that others use now.
template <typename Maker>
std::function<Answer(const json&)> Serving(const Maker& make, int fd) {
  try {
    return [judge = make(), fd](const json& message) { return AnswerOf(judge, fd, message); };
  } catch (const std::exception& error) {
    Verdict verdict;
    verdict.reason = fmt::format("there is no judge: {}", error.what());
    return [reply = ReplyOf(verdict, false, /*last=*/true, /*again=*/true)](const json&) {
      return Answer{reply, nullptr};
    };
  }
}

// The life of a judge process.
template <typename Maker>
void Live(const Maker& make, int fd, const JudgeNeeds& needs, bool on_gpu) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN);  // the pool decides when to stop
  CloseOthers(needs, fd);
  RestrictJudgesFiles(needs, on_gpu);
  const auto serve = Serving(make, fd);
  RestrictJudgesCalls(needs, on_gpu);
  ServeMessages(fd, serve);
}

}  // namespace

json ToMessage(const JudgeRequest& request, bool want_plan) {
  json together = json::array();
  for (const SourceFile& file : request.together) together.push_back(ToMessage(file));
  return {{"reference", ToMessage(request.reference)},
          {"candidate", ToMessage(request.candidate)},
          {"options", ToJson(request.options)},
          {"together", std::move(together)},
          {"want_plan", want_plan}};
}

// What leaves a judge's frames must not unwind its caller's, who would end processes that others share; hence
// noexcept.
void LiveAsJudge(const JudgeMaker& make, int fd, const JudgeNeeds& needs) noexcept {
  Live(make, fd, needs, /*on_gpu=*/false);
  _exit(0);
}

void LiveAsGpuJudge(const GpuJudgeMaker& make, int number, int fd, const JudgeNeeds& needs) noexcept {
  Live([&] { return make(number); }, fd, needs, /*on_gpu=*/true);
  _exit(0);
}

}  // namespace tritogen
