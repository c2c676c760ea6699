#include "record/reply.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/error.h"
#include "base/frame.h"
#include "base/process.h"
#include "base/utf8.h"
#include "plan/parse.h"

namespace tritogen {
namespace {

using Kind = RecordFailure::Kind;
constexpr size_t kMaxMessageBytes = 2000, kMaxTraceBytes = 8000, kMaxRuleBytes = 32;

RecordFailure Failure(Kind kind, std::string message) {
  return {kind, "", std::move(message), 0, ""};
}

RecordFailure Forged(const std::string& what) {
  return {Kind::kRejected, "forged_frame",
          "the program wrote to the recorder's reply channel: " + PrintableText(what, kMaxMessageBytes), 0,
          ""};
}

// A child that ended otherwise than by answering.
RecordFailure JudgeStatus(const ChildEnd& end, const ChildLimits& limits) {
  RecordFailure failure = Failure(Kind::kRuntimeError, "");
  failure.trace = PrintableText(end.output, kMaxTraceBytes);
  if (!WIFSIGNALED(end.status)) {
    failure.kind = Kind::kRejected;
    failure.rule = "exit";
    failure.message = fmt::format("the program ended its process ({}) instead of returning",
                                  DescribeWaitStatus(end.status));
  } else if (WTERMSIG(end.status) != SIGKILL) {
    failure.message = fmt::format("the program crashed: {}", DescribeWaitStatus(end.status));
  } else if (end.cpu_seconds >= 0.9 * limits.cpu_seconds) {  // the kernel's two clocks differ by a few ticks
    failure.kind = Kind::kTimeout;
    failure.message = fmt::format("the program used more than {} s of CPU time", limits.cpu_seconds);
  } else {
    failure.kind = Kind::kKilled;
    failure.message =
        "the program was killed by the kernel, most likely because the machine ran out of memory";
  }
  return failure;
}

std::string Text(const nlohmann::json& reply, const char* key, size_t max_bytes) {
  auto it = reply.find(key);
  return it != reply.end() && it->is_string() ? PrintableText(it->get_ref<const std::string&>(), max_bytes)
                                              : "";
}

bool IsRuleName(const std::string& rule) {
  return !rule.empty() && rule.size() <= kMaxRuleBytes &&
         std::all_of(rule.begin(), rule.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// The recorder's own account of why there is no Plan.
RecordFailure ReadFailure(const nlohmann::json& reply) {
  RecordFailure failure = Failure(Kind::kRuntimeError, Text(reply, "message", kMaxMessageBytes));
  failure.trace = Text(reply, "trace", kMaxTraceBytes);
  if (auto line = reply.find("line"); line != reply.end() && line->is_number_integer())
    failure.line = static_cast<int>(std::clamp<int64_t>(line->get<int64_t>(), 0, 1 << 30));
  const std::string kind = Text(reply, "kind", kMaxRuleBytes);
  if (kind == "rejected") {
    failure.kind = Kind::kRejected;
    failure.rule = Text(reply, "rule", kMaxRuleBytes);
    if (!IsRuleName(failure.rule)) return Forged("a rejection that names no rule");
  } else if (kind == "compile_error") {
    failure.kind = Kind::kCompileError;
  } else if (kind != "runtime_error") {
    return Forged(fmt::format("a failure of kind '{}'", kind));
  }
  if (failure.message.empty()) failure.message = "recording failed without a message";
  return failure;
}

std::variant<Plan, RecordFailure> ReadReply(const nlohmann::json& reply) {
  try {
    const auto ok = reply.find("ok");
    if (ok == reply.end() || !ok->is_boolean()) return Forged("a reply without 'ok'");
    if (!ok->get<bool>()) return ReadFailure(reply);
    const auto plan = reply.find("plan");
    if (plan == reply.end()) return Forged("a reply without a Plan");
    return ParsePlan(*plan);
  } catch (const FormatError& error) {
    return Forged(error.what());
  }
}

std::variant<Plan, RecordFailure> ReadReply(const std::string& bytes) {
  try {
    return ReadReply(DecodeFrame(bytes));
  } catch (const FormatError& error) {
    return Forged(error.what());
  }
}

bool Answered(const ChildEnd& end) {
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0 && !end.reply.empty();
}

}  // namespace

std::variant<Plan, RecordFailure> ReadChildEnd(const ChildEnd& end, const ChildLimits& limits) {
  switch (end.how) {
    case ChildEnd::How::kTimedOut:
      return Failure(Kind::kTimeout, fmt::format("the program ran longer than {} s", limits.wall_seconds));
    case ChildEnd::How::kOverflowed:
      return Forged("more bytes than any reply has");
    case ChildEnd::How::kNotStarted:
      return Failure(Kind::kInfraError,
                     "the jail could not be built: " + PrintableText(end.problem, kMaxMessageBytes));
    case ChildEnd::How::kZygoteEnded:
      return Failure(Kind::kInfraError, PrintableText(end.problem, kMaxMessageBytes));
    case ChildEnd::How::kEnded:
      break;
  }
  return Answered(end) ? ReadReply(end.reply) : JudgeStatus(end, limits);
}

std::vector<std::optional<Plan>> ReadPlans(const ChildEnd& end) {
  std::vector<std::optional<Plan>> plans;
  if (end.how != ChildEnd::How::kEnded || !Answered(end)) return plans;
  try {
    const nlohmann::json reply = DecodeFrame(end.reply);
    const auto replies = reply.find("replies");
    if (replies == reply.end() || !replies->is_array()) return plans;
    for (const nlohmann::json& one : *replies) {
      auto read = one.is_object() ? ReadReply(one) : Forged("a reply that is no map");
      auto* plan = std::get_if<Plan>(&read);
      plans.push_back(plan ? std::optional(std::move(*plan)) : std::nullopt);
    }
  } catch (const FormatError&) {
  }
  return plans;
}

}  // namespace tritogen
