#include "propose/policy_proposer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/splitmix.h"
#include "program/catalogue.h"
#include "propose/chat_model.h"
#include "propose/module_around.h"
#include "text/prompt.h"

namespace tritogen {
namespace {

int64_t OperationsOf(const Program& program) {
  return std::ranges::count(program.nodes, NodeKind::kOp, &Node::kind);
}

// Whether there is a product of matrices or a convolution, whose kernels walk over all of their dimensions in
// tiles. Where a dimension is reduced or scanned, a row's block is a number that follows from the size
// without being it: nothing could take it back.
bool HasProduct(const Program& program) {
  return std::ranges::any_of(program.nodes, [](const Node& node) {
    const OpRow* row = node.kind == NodeKind::kOp ? FindOp(node.op) : nullptr;
    return row != nullptr &&
           (row->flops.count == FlopCount::kProduct || row->flops.count == FlopCount::kConvolution);
  });
}

// How a long program is cut, by the sample's number: see PolicyProposer. Without views there is nothing
// apart.
PartLimits LimitsOf(const Program& program, int sample, int most) {
  const int turn = sample % 4;
  const int computing = turn == 3 ? 1 : turn == 2 ? std::min(2, most) : most;
  const bool has_views = std::ranges::any_of(program.nodes, IsView);
  return {.operations = most, .computing = computing, .views_apart = has_views && turn != 1};
}

// Whether a part has small sizes, by the turn of its sample among those that are cut alike.
bool IsSmall(int turn, size_t part) {
  const bool even = part % 2 == 0;
  return turn % 4 == 0 || (turn % 4 == 2 && even) || (turn % 4 == 3 && !even);
}

// The program as a part of itself.
ProgramPart WholePart(const Program& program) {
  ProgramPart part{.program = WithPlainLeaves(program), .writes = program.outputs};
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes.size()); ++id) {
    if (program.nodes[id].kind != NodeKind::kOp) part.reads.push_back({id});
  }
  return part;
}

// What a candidate says of its parts' answers; its source and strategy are still to come. It has no `answer`:
// nobody wrote this text to this program, so nothing is to be learned from mending it.
Candidate Gathered(const std::vector<Candidate>& answers) {
  Candidate whole{.proposer = answers[0].proposer, .tokens = 0};
  for (size_t i = 0; i < answers.size(); ++i) {
    const Candidate& answer = answers[i];
    const std::string head =
        answers.size() == 1 ? "" : fmt::format("{}Part {}.\n", i > 0 ? "\n\n" : "", i + 1);
    whole.plan += head + answer.plan;
    whole.tokens =
        whole.tokens && answer.tokens ? std::optional(*whole.tokens + *answer.tokens) : std::nullopt;
    if (!whole.no_answer.empty() || answer.no_answer.empty()) continue;
    const size_t reason = answer.no_answer.find(": ") + 2;
    const std::string where = answers.size() == 1 ? "" : fmt::format("of part {}: ", i + 1);
    whole.no_answer = answer.no_answer.substr(0, reason) + where + answer.no_answer.substr(reason);
  }
  return whole;
}

}  // namespace

PolicyProposer::PolicyProposer(std::unique_ptr<Proposer> model, PolicyOptions options)
    : model_(std::move(model)), options_(options) {
  TRITOGEN_CHECK(options.operations >= 0 && options.largest >= 0 && options.most >= 0);
}

bool PolicyProposer::IsRefused(const ProposeRequest& request) {
  TRITOGEN_CHECK(request.program != nullptr);
  const int64_t count = OperationsOf(*request.program);
  if (options_.most == 0 || count <= options_.most) return false;
  remarks_.push_back(
      fmt::format("{}: not asked: the program has {} operations, and answers to more than {} take long "
                  "without a GPU (--proposer {} asks it all the same)",
                  name(), count, options_.most, name()));
  return true;
}

// Whether the model is asked about the program as it is.
bool PolicyProposer::IsPlain(const ProposeRequest& request) const {
  const Program& program = *request.program;
  const bool is_long = options_.operations > 0 && OperationsOf(program) > options_.operations;
  const bool is_large =
      options_.largest > 0 && HasProduct(program) && HasSizeAbove(program, options_.largest);
  return (!is_long && !is_large) ||
         FindUnknown(program) != nullptr;  // unknown operations the model itself refuses
}

PolicyProposer::Way PolicyProposer::WayOf(const ProposeRequest& request,
                                          const std::optional<PartLimits>& limits, int first_turn) const {
  Way way{.limits = limits, .next_turn = first_turn};
  if (limits) {
    way.parts = CutIntoParts(*request.program, *limits);
  } else {
    way.parts.push_back(WholePart(*request.program));
  }
  for (const ProgramPart& part : way.parts) {
    const bool may_be_small = options_.largest > 0 && HasProduct(part.program);
    way.resized.push_back(may_be_small ? WithSmallSizes(part.program, options_.largest, request.seed)
                                       : std::nullopt);
  }
  return way;
}

void PolicyProposer::AddSample(Open* open, size_t place) {
  Way& way = open->ways[place];
  const int turn = way.next_turn++;
  Sample sample{.way = place, .answers = std::vector<Candidate>(way.parts.size())};
  for (size_t part = 0; part < way.parts.size(); ++part) {
    const bool small = way.resized[part] && IsSmall(turn, part);
    sample.small |= small;
    const auto [at, fresh] = way.questions.emplace(std::pair(part, small), open->questions.size());
    if (fresh) {
      open->questions.push_back(small
                                    ? Question{part, way.resized[part]->program, way.resized[part]->back, {}}
                                    : Question{part, way.parts[part].program, {}, {}});
    }
    open->questions[at->second].samples.push_back(open->samples.size());
  }
  open->samples.push_back(std::move(sample));
}

PolicyProposer::Open PolicyProposer::Opened(const ProposeRequest& request) const {
  Open open{.request = request};
  open.whole = options_.operations == 0 || OperationsOf(*request.program) <= options_.operations;
  const auto add = [&](const std::optional<PartLimits>& limits, int first_turn) {
    const auto way = std::ranges::find(open.ways, limits, &Way::limits);
    const auto place = static_cast<size_t>(way - open.ways.begin());
    if (way == open.ways.end()) open.ways.push_back(WayOf(request, limits, first_turn));
    AddSample(&open, place);
  };
  const auto limits_of = [&](int sample) {
    return open.whole ? std::nullopt : std::optional(LimitsOf(*request.program, sample, options_.operations));
  };
  if (request.wrong != nullptr) {
    add(limits_of(3), static_cast<int>(request.seed % 2));
  } else {
    for (int i = 0; i < request.count; ++i)
      add(limits_of(i), !open.whole && (i % 4 == 1 || i % 4 == 2) ? 1 : 0);
  }
  open.waiting = open.questions.size();
  return open;
}

// Each question has a seed of its own: equal parts of two ways get unlike answers.
ProposeRequest PolicyProposer::RequestFor(const Open& open, size_t place) {
  const Question& question = open.questions[place];
  return {.program = &question.program,
          .entry = "Model",
          .strict = open.request.strict,
          .seed = SplitMix::At(open.request.seed, place),
          .count = static_cast<int>(question.samples.size())};
}

// A sample's candidate when this answer was its last one.
std::optional<Candidate> PolicyProposer::Take(Open* open, size_t place, Candidate answer) {
  const Question& question = open->questions[place];
  if (answer.number < 0 || static_cast<size_t>(answer.number) >= question.samples.size()) return std::nullopt;
  const size_t number = question.samples[answer.number];
  for (std::string* text : {&answer.source, &answer.plan}) *text = TakenBack(*text, question.back);
  Sample& sample = open->samples[number];
  sample.answers[question.part] = std::move(answer);
  if (std::ranges::any_of(sample.answers, [](const Candidate& one) { return one.number < 0; }))
    return std::nullopt;

  const auto& parts = open->ways[sample.way].parts;
  Candidate whole = Gathered(sample.answers);
  whole.number = static_cast<int>(number);
  const std::string model = chat() != nullptr ? chat()->model() : std::string(name());
  whole.strategy = open->request.wrong != nullptr
                       ? open->request.wrong->strategy + " again"
                       : fmt::format("{} #{}{}{}", model, number + 1,
                                     open->whole ? "" : fmt::format(" in {} parts", parts.size()),
                                     sample.small ? " by small sizes" : "");
  if (!whole.no_answer.empty()) return whole;
  std::vector<std::string> codes;
  for (const Candidate& one : sample.answers) codes.push_back(one.source);
  const Program& program = *open->request.program;
  auto file = FileOf(open->whole ? codes[0] : FileOfParts(program, parts, codes), open->request);
  if (file) {
    whole.source = std::move(*file);
  } else {
    whole.no_answer = kNoModule;
  }
  return whole;
}

void PolicyProposer::Begin(std::string id, const ProposeRequest& request) {
  if (IsRefused(request)) return refused_.push_back(std::move(id));
  if (IsPlain(request)) return model_->Begin(std::move(id), request);
  const auto [at, fresh] = open_.emplace(id, Opened(request));
  TRITOGEN_CHECK(fresh);
  const Open& open = at->second;
  if (open.questions.empty()) {  // there is nothing but views
    refused_.push_back(std::move(id));
    open_.erase(at);
    return;
  }
  for (size_t i = 0; i < open.questions.size(); ++i)
    model_->Begin(fmt::format("{}/{}", id, i), RequestFor(open, i));
}

std::optional<Proposal> PolicyProposer::Next(double timeout_seconds) {
  if (!refused_.empty()) {
    Proposal none{.id = std::move(refused_.back())};
    refused_.pop_back();
    return none;
  }
  auto proposal = model_->Next(timeout_seconds);
  if (!proposal) return std::nullopt;
  const size_t slash = proposal->id.rfind('/');
  if (slash == std::string::npos) return proposal;
  Proposal whole{.id = proposal->id.substr(0, slash), .last = false};
  const auto found = open_.find(whole.id);
  if (found == open_.end()) return whole;  // cancelled before
  Open& open = found->second;
  for (Candidate& answer : proposal->candidates) {
    if (auto candidate = Take(&open, std::stoul(proposal->id.substr(slash + 1)), std::move(answer)))
      whole.candidates.push_back(std::move(*candidate));
  }
  open.waiting -= proposal->last;
  whole.last = open.waiting == 0;
  if (whole.last) open_.erase(found);
  return whole;
}

void PolicyProposer::Cancel() {
  model_->Cancel();
  open_.clear();
  refused_.clear();
}

std::vector<std::string> PolicyProposer::TakeRemarks() {
  std::vector<std::string> remarks = std::exchange(remarks_, {});
  for (std::string& remark : model_->TakeRemarks()) remarks.push_back(std::move(remark));
  return remarks;
}

std::vector<Candidate> PolicyProposer::Propose(const ProposeRequest& request) {
  return ProposeAll({&request, 1})[0];
}

std::vector<std::vector<Candidate>> PolicyProposer::ProposeAll(std::span<const ProposeRequest> requests) {
  // The model's ProposeAll, which shows progress and can be given up, with questions in place of requests.
  struct Asked {
    size_t request, question = 0;
  };
  std::map<size_t, Open> opened;
  std::vector<Asked> asked;
  std::vector<ProposeRequest> all;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (IsRefused(requests[i])) continue;
    if (IsPlain(requests[i])) {
      asked.push_back({i});
      all.push_back(requests[i]);
      continue;
    }
    const Open& open = opened.emplace(i, Opened(requests[i])).first->second;
    for (size_t question = 0; question < open.questions.size(); ++question) {
      asked.push_back({i, question});
      all.push_back(RequestFor(open, question));
    }
  }
  std::vector<std::vector<Candidate>> answers = model_->ProposeAll(all), candidates(requests.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto open = opened.find(asked[i].request);
    for (Candidate& answer : answers[i]) {
      std::optional<Candidate> candidate = open == opened.end()
                                               ? std::optional(std::move(answer))
                                               : Take(&open->second, asked[i].question, std::move(answer));
      if (candidate) candidates[asked[i].request].push_back(std::move(*candidate));
    }
  }
  return candidates;
}

}  // namespace tritogen
