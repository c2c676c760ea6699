#include "propose/language_proposer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/python_tokens.h"
#include "program/catalogue.h"
#include "program/print.h"
#include "propose/module_around.h"

namespace tritogen {
namespace {

bool Names(const std::string& code, const std::string& name) {
  const auto tokens = PythonTokens(code);
  return std::any_of(tokens.begin(), tokens.end(), [&](const PythonToken& token) {
    return token.kind == PythonToken::Kind::kName && token.text == name;
  });
}

}  // namespace

LanguageProposer::LanguageProposer(LanguageOptions options, std::unique_ptr<ChatModel> model)
    : options_(std::move(options)), model_(std::move(model)) {
  if (options_.prompt.answer == AnswerForm::kText)
    throw UserError(fmt::format("prompt {} asks for no code", options_.prompt.name));
}

PromptTask LanguageProposer::TaskOf(const ProposeRequest& request) const {
  PromptTask task = PolicyTask(*request.program, request.strict);
  if (!options_.as_policy) {
    task.device = options_.device;
    task.program = PrintProgram(*request.program);
  }
  task.source = request.reference_source;
  task.entry = request.entry;
  task.is_function = request.is_function;
  return task;
}

std::vector<ChatMessage> LanguageProposer::MessagesFor(const Open& open) const {
  const PromptTemplate& prompt = options_.prompt;
  const ProposeRequest& request = open.request;
  std::vector<ChatMessage> messages =
      MessagesOf(prompt, ValuesOf(prompt, open.task, options_.body.value_or(prompt.body)));
  if (request.wrong != nullptr) {
    const auto text = [&](const char* key) {
      const auto found = request.verdict->find(key);
      return found != request.verdict->end() && found->is_string() ? found->get<std::string>() : "";
    };
    AskForRepair(&messages, request.wrong->answer, text("verdict"), text("rule"), text("reason"));
  }
  return messages;
}

// The answer's code as a complete file that defines ModelNew.
void LanguageProposer::PutIntoFile(const Open& open, const Answer& answer, Candidate* candidate) const {
  const ProposeRequest& request = open.request;
  const bool is_class = options_.prompt.answer == AnswerForm::kClass;
  if (is_class && !options_.as_policy) {
    // Some answers extend the original class, or use a helper of its file, without repeating it.
    const bool needs_original = !request.is_function && Names(answer.code, request.entry);
    candidate->source = needs_original ? request.reference_source + "\n\n" + answer.code : answer.code;
    return;
  }
  auto file = is_class ? FileOf(answer.code, request)
                       : ModuleAround(answer.code, AnswerEntry(options_.prompt, open.task), request);
  if (file) {
    candidate->source = std::move(*file);
  } else {
    candidate->no_answer = kNoModule;
  }
}

Candidate LanguageProposer::CandidateFrom(const Open& open, const ChatReply& reply, int sample) const {
  const PromptTemplate& prompt = options_.prompt;
  const Candidate* wrong = open.request.wrong;
  Candidate candidate{.proposer = options_.name,
                      .strategy = wrong != nullptr ? wrong->strategy + " repaired"
                                                   : fmt::format("{} #{}", model_->model(), sample + 1),
                      .thoughts = reply.reasoning,
                      .asked = open.messages,
                      .answer = reply.content,
                      .number = sample,
                      .tokens = reply.completion_tokens};
  auto extracted = ExtractAnswer(reply.content, {.form = prompt.answer,
                                                 .tag = prompt.tag,
                                                 .entry = AnswerEntry(prompt, open.task),
                                                 .kernel_needed = true,
                                                 .cut_off = reply.cut_off()});
  if (const auto* reason = std::get_if<NoAnswer>(&extracted)) {
    candidate.no_answer = fmt::format("{}: {}", NoAnswerName(*reason), NoAnswerReason(*reason));
    return candidate;
  }
  Answer& answer = std::get<Answer>(extracted);
  if (!answer.thoughts.empty())
    candidate.thoughts += (candidate.thoughts.empty() ? "" : "\n") + answer.thoughts;
  if (!answer.steps) {
    const FourSteps steps = FindFourSteps(candidate.thoughts);
    if (steps.complete()) answer.steps = steps;
  }
  if (options_.as_policy) {
    candidate.plan = answer.prose;
  } else if (answer.steps) {
    candidate.plan = answer.steps->ToText();
  }
  PutIntoFile(open, answer, &candidate);
  return candidate;
}

void LanguageProposer::Begin(std::string id, const ProposeRequest& request) {
  TRITOGEN_CHECK(request.program != nullptr);
  const Node* unknown = options_.as_policy ? FindUnknown(*request.program) : nullptr;
  if (unknown != nullptr) {
    refused_.push_back(std::move(id));
    refusals_.push_back(
        fmt::format("{}: the program has {}, which is no operation of the catalogue", name(), unknown->op));
    return;
  }
  Open open{request, TaskOf(request), {}, request.wrong == nullptr ? request.count : 1};
  open.messages = MessagesFor(open);
  const ChatRequest question{.messages = open.messages,
                             .purpose = request.wrong == nullptr ? "propose" : "repair",
                             .samples = open.waiting,
                             .seed = request.seed};
  asked_ += question.samples;
  TRITOGEN_CHECK(open_.emplace(id, std::move(open)).second);
  model_->Submit(std::move(id), question);
}

std::optional<Proposal> LanguageProposer::Next(double timeout_seconds) {
  if (!refused_.empty()) {
    Proposal none{.id = std::move(refused_.back())};
    refused_.pop_back();
    return none;
  }
  auto done = model_->Next(timeout_seconds);
  auto open = open_.end();
  while (done && (open = open_.find(done->id)) == open_.end()) done = model_->Next(0);  // cancelled before
  if (!done) return std::nullopt;
  Proposal proposal{.id = std::move(done->id), .last = --open->second.waiting == 0};
  if (const auto* reply = std::get_if<ChatReply>(&done->result)) {
    ever_answered_ = true;
    proposal.candidates.push_back(CandidateFrom(open->second, *reply, done->sample));
  } else {
    const auto& failure = std::get<ChatFailure>(done->result);
    const bool nothing_came = !ever_answered_ && model_->unfinished() == 0;
    if (options_.must_answer && (failure.outage() || nothing_came)) throw UserError(failure.message);
    ++failures_[failure.message];
    failed_ = true;
  }
  if (proposal.last) open_.erase(open);
  return proposal;
}

void LanguageProposer::Cancel() {
  model_->Cancel();
  while (model_->Next(0)) continue;
  open_.clear();
  refused_.clear();
}

std::vector<Candidate> LanguageProposer::Propose(const ProposeRequest& request) {
  return ProposeAll({&request, 1})[0];
}

std::vector<std::vector<Candidate>> LanguageProposer::ProposeAll(std::span<const ProposeRequest> requests) {
  constexpr double kPollSeconds = 0.2;
  TRITOGEN_CHECK(open_.empty());
  for (size_t i = 0; i < requests.size(); ++i) Begin(std::to_string(i), requests[i]);
  const int64_t total = model_->unfinished();
  const auto report = [&](int64_t done) {
    if (options_.progress) options_.progress(done, total);
  };
  report(0);
  std::vector<std::vector<Candidate>> all(requests.size());
  for (int64_t done = 0; !open_.empty() || !refused_.empty();) {
    if (model_->give_up && model_->give_up()) model_->Cancel();
    auto proposal = Next(kPollSeconds);
    if (!proposal) continue;
    report(done += static_cast<int64_t>(proposal->candidates.size()));
    for (Candidate& candidate : proposal->candidates)
      all[std::stoul(proposal->id)].push_back(std::move(candidate));
  }
  return all;
}

std::vector<std::string> LanguageProposer::TakeRemarks() {
  std::vector<std::string> remarks = std::exchange(refusals_, {});
  for (const auto& [message, count] : std::exchange(failures_, {}))
    remarks.push_back(fmt::format("{}: {} of {} samples failed: {}", name(), count, asked_, message));
  asked_ = 0;
  if (std::string problem = model_->TakeProblem(); !problem.empty())
    remarks.push_back(fmt::format("{}: {}", name(), problem));
  return remarks;
}

}  // namespace tritogen
