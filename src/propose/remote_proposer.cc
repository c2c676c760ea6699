#include "propose/remote_proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/python_tokens.h"
#include "program/literal.h"
#include "program/print.h"

namespace tritogen {
namespace {

bool Names(const std::string& code, const std::string& name) {
  const auto tokens = PythonTokens(code);
  return std::any_of(tokens.begin(), tokens.end(), [&](const PythonToken& token) {
    return token.kind == PythonToken::Kind::kName && token.text == name;
  });
}

bool HasName(const Plan* plan, const std::string& name) {
  return plan == nullptr || std::any_of(plan->state.begin(), plan->state.end(),
                                        [&](const StateEntry& entry) { return entry.name == name; });
}

}  // namespace

std::optional<std::string> ModuleAround(const std::string& code, const std::string& function,
                                        const ProposeRequest& request) {
  std::string arguments = "*tensors";
  for (const Node& node : request.program->nodes) {
    if (node.kind == NodeKind::kConstant) return std::nullopt;
    if (node.kind != NodeKind::kParameter && node.kind != NodeKind::kBuffer) continue;
    if (!HasName(request.reference, node.name)) return std::nullopt;
    arguments += fmt::format(", self.get_{}({})", node.kind == NodeKind::kBuffer ? "buffer" : "parameter",
                             PythonLiteral(Arg{node.name}));
  }
  const std::string base = request.is_function ? "torch.nn.Module" : request.entry;
  return fmt::format(
      "{}import torch\nfrom torch.utils._pytree import tree_leaves\n\n{}\n\n"
      "class ModelNew({}):\n"
      "    def forward(self, *inputs):\n"
      "        tensors = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]\n"
      "        return {}({})\n",
      request.is_function ? "" : request.reference_source + "\n\n", code, base, function, arguments);
}

RemoteProposer::RemoteProposer(RemoteOptions options) : options_(std::move(options)), client_(options_.chat) {
  if (options_.prompt.answer == AnswerForm::kText)
    throw UserError(fmt::format("prompt {} asks for no code", options_.prompt.name));
}

PromptTask RemoteProposer::TaskOf(const ProposeRequest& request) const {
  return {.source = request.reference_source,
          .program = PrintProgram(*request.program),
          .entry = request.entry,
          .is_function = request.is_function,
          .strict = request.strict,
          .device = options_.device,
          .precision = PrecisionText(*request.program)};
}

ChatRequest RemoteProposer::RequestFor(const PromptTask& task) const {
  const PromptTemplate& prompt = options_.prompt;
  const PromptValues values = ValuesOf(prompt, task, options_.body.value_or(prompt.body));
  return {.messages = MessagesOf(prompt, values), .purpose = "propose"};
}

Candidate RemoteProposer::CandidateFrom(const ProposeRequest& request, const PromptTask& task,
                                        const ChatReply& reply, int sample) const {
  const PromptTemplate& prompt = options_.prompt;
  Candidate candidate{.proposer = "remote",
                      .strategy = fmt::format("{} #{}", client_.options().model, sample + 1)};
  candidate.thoughts = reply.reasoning;
  const std::string entry = AnswerEntry(prompt, task);
  auto extracted = ExtractAnswer(reply.content, {.form = prompt.answer,
                                                 .tag = prompt.tag,
                                                 .entry = entry,
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
  if (answer.steps) candidate.plan = answer.steps->ToText();
  if (prompt.answer == AnswerForm::kClass) {
    // Some answers extend the original class, or use a helper of its file, without repeating it.
    const bool needs_original = !request.is_function && Names(answer.code, request.entry);
    candidate.source = needs_original ? request.reference_source + "\n\n" + answer.code : answer.code;
    return candidate;
  }
  if (auto module = ModuleAround(answer.code, entry, request)) {
    candidate.source = std::move(*module);
  } else {
    candidate.no_answer = "no_module: the program has state without a name, which a function cannot be given";
  }
  return candidate;
}

std::vector<Candidate> RemoteProposer::Propose(const ProposeRequest& request) {
  return ProposeAll({&request, 1})[0];
}

std::vector<std::vector<Candidate>> RemoteProposer::ProposeAll(std::span<const ProposeRequest> requests) {
  std::vector<PromptTask> tasks;
  std::vector<ChatRequest> questions;
  std::vector<size_t> task_of;
  for (const ProposeRequest& request : requests) {
    TRITOGEN_CHECK(request.program != nullptr);
    tasks.push_back(TaskOf(request));
    questions.insert(questions.end(), request.count, RequestFor(tasks.back()));
    task_of.insert(task_of.end(), request.count, tasks.size() - 1);
  }
  const auto total = static_cast<int64_t>(questions.size());
  const auto on_done = [&](int64_t done) {
    if (options_.progress) options_.progress(done, total);
  };
  on_done(0);
  const std::vector<ChatResult> results = client_.Ask(questions, on_done);
  std::vector<std::vector<Candidate>> all(requests.size());
  std::vector<int> samples(requests.size(), 0);
  std::map<std::string, int> failures;
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t task = task_of[i];
    const int sample = samples[task]++;
    if (const auto* reply = std::get_if<ChatReply>(&results[i])) {
      all[task].push_back(CandidateFrom(requests[task], tasks[task], *reply, sample));
    } else {
      const auto& failure = std::get<ChatFailure>(results[i]);
      if (options_.must_answer && failure.outage()) throw UserError(failure.message);
      ++failures[failure.message];
    }
  }
  for (const auto& [message, count] : failures)
    remarks_.push_back(fmt::format("remote: {} of {} samples failed: {}", count, total, message));
  return all;
}

std::vector<std::string> RemoteProposer::TakeRemarks() {
  if (std::string problem = client_.TakeLogProblem(); !problem.empty())
    remarks_.push_back("remote: " + problem);
  return std::exchange(remarks_, {});
}

}  // namespace tritogen
