#include "propose/language_proposer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/python_tokens.h"
#include "program/catalogue.h"
#include "program/literal.h"
#include "program/print.h"
#include "propose/constant_text.h"

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

// Whether an answer to the canonical program is an answer to the reference: a constructor and a forward with
// the same arguments, so no state, and tensors only.
bool TakesProgramArguments(const ProposeRequest& request) {
  const auto& nodes = request.program->nodes;
  const bool state = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return node.kind == NodeKind::kParameter || node.kind == NodeKind::kBuffer ||
           node.kind == NodeKind::kConstant;
  });
  const auto inputs = std::count_if(nodes.begin(), nodes.end(),
                                    [](const Node& node) { return node.kind == NodeKind::kInput; });
  const Plan* reference = request.reference;
  return !state && (reference == nullptr || (reference->init_inputs.empty() &&
                                             reference->inputs.size() == static_cast<size_t>(inputs)));
}

// Why the model is not asked about this program; empty: it is.
std::string Refusal(const Program& program, const LanguageOptions& options) {
  int64_t operations = 0;
  for (const Node& node : program.nodes) {
    if (node.kind != NodeKind::kOp) continue;
    if (options.as_policy && FindOp(node.op) == nullptr)
      return fmt::format("the program has {}, which is no operation of the catalogue", node.op);
    ++operations;
  }
  if (options.most_operations == 0 || operations <= options.most_operations) return "";
  return fmt::format(
      "not asked: the program has {} operations, and its answers to more than {} rarely pass "
      "(--proposer {} asks it all the same)",
      operations, options.most_operations, options.name);
}

}  // namespace

std::optional<std::string> ModuleAround(const std::string& code, const std::string& function,
                                        const ProposeRequest& request) {
  std::map<NodeId, std::string> constants;
  if (request.reference != nullptr) constants = ConstantTexts(*request.reference, *request.program);
  std::string arguments = "*tensors", buffers;
  for (NodeId id = 0; id < static_cast<NodeId>(request.program->nodes.size()); ++id) {
    const Node& node = request.program->nodes[id];
    if (node.kind == NodeKind::kInput || node.kind == NodeKind::kOp) continue;
    const std::string name = PythonLiteral(Arg{node.name});
    if (node.kind == NodeKind::kConstant) {
      const auto text = constants.find(id);
      if (text == constants.end()) return std::nullopt;
      buffers += fmt::format("        self.register_buffer({}, {}, persistent=False)\n", name, text->second);
    } else if (!HasName(request.reference, node.name)) {
      return std::nullopt;
    }
    arguments +=
        fmt::format(", self.get_{}({})", node.kind == NodeKind::kParameter ? "parameter" : "buffer", name);
  }
  if (!buffers.empty()) {
    buffers = "    def __init__(self, *inputs, **named):\n        super().__init__(*inputs, **named)\n" +
              buffers + "\n";
  }
  const std::string base = request.is_function ? "torch.nn.Module" : request.entry;
  return fmt::format(
      "{}import torch\nfrom torch.utils._pytree import tree_leaves\n\n{}\n\n"
      "class ModelNew({}):\n{}"
      "    def forward(self, *inputs):\n"
      "        tensors = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]\n"
      "        return {}({})\n",
      request.is_function ? "" : request.reference_source + "\n\n", code, base, buffers, function, arguments);
}

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

ChatRequest LanguageProposer::QuestionFor(const Open& open) const {
  const PromptTemplate& prompt = options_.prompt;
  const ProposeRequest& request = open.request;
  ChatRequest question{
      .messages = MessagesOf(prompt, ValuesOf(prompt, open.task, options_.body.value_or(prompt.body))),
      .purpose = request.wrong == nullptr ? "propose" : "repair",
      .samples = open.waiting,
      .seed = request.seed};
  if (request.wrong != nullptr) {
    const auto text = [&](const char* key) {
      const auto found = request.verdict->find(key);
      return found != request.verdict->end() && found->is_string() ? found->get<std::string>() : "";
    };
    question.messages.push_back({"assistant", request.wrong->answer});
    question.messages.push_back({"user", RepairText(text("verdict"), text("rule"), text("reason"))});
  }
  return question;
}

// The answer's code as a complete file that defines ModelNew.
void LanguageProposer::PutIntoFile(const Open& open, const Answer& answer, Candidate* candidate) const {
  const ProposeRequest& request = open.request;
  std::string function = AnswerEntry(options_.prompt, open.task), code = answer.code;
  if (options_.prompt.answer == AnswerForm::kClass) {
    if (!options_.as_policy || TakesProgramArguments(request)) {
      // Some answers extend the original class, or use a helper of its file, without repeating it.
      const bool needs_original = !options_.as_policy && !request.is_function && Names(code, request.entry);
      candidate->source = needs_original ? request.reference_source + "\n\n" + code : code;
      return;
    }
    function = "_program";
    code += fmt::format("\n\n{} = ModelNew()\n", function);
  }
  if (auto module = ModuleAround(code, function, request)) {
    candidate->source = std::move(*module);
  } else {
    candidate->no_answer =
        "no_module: the program has constants that are too long to write down, or state without a name: a "
        "function cannot be given them";
  }
}

Candidate LanguageProposer::CandidateFrom(const Open& open, const ChatReply& reply, int sample) const {
  const PromptTemplate& prompt = options_.prompt;
  const Candidate* wrong = open.request.wrong;
  Candidate candidate{.proposer = options_.name,
                      .strategy = wrong != nullptr ? wrong->strategy + " repaired"
                                                   : fmt::format("{} #{}", model_->model(), sample + 1),
                      .thoughts = reply.reasoning,
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
  if (const std::string why = Refusal(*request.program, options_); !why.empty()) {
    refused_.push_back(std::move(id));
    refusals_.push_back(fmt::format("{}: {}", name(), why));
    return;
  }
  Open open{request, TaskOf(request), request.wrong == nullptr ? request.count : 1};
  const ChatRequest question = QuestionFor(open);
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
