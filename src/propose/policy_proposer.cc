#include "propose/parts_proposer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "program/catalogue.h"
#include "propose/chat_model.h"
#include "propose/module_around.h"

namespace tritogen {
namespace {

int64_t OperationsOf(const Program& program) {
  return std::ranges::count(program.nodes, NodeKind::kOp, &Node::kind);
}

// Operations of a part that are no views, by the sample's number: see PartsProposer.
int ComputingOf(int sample, int most) {
  const int turn = sample % 4;
  return turn == 3 ? 1 : turn == 2 ? std::min(2, most) : most;
}

// The answers of a sample's parts as one candidate, but for its strategy.
Candidate PutTogether(const ProposeRequest& request, const std::vector<ProgramPart>& parts,
                      const std::vector<Candidate>& answers, int number) {
  Candidate whole{.proposer = answers[0].proposer, .number = number, .tokens = 0};
  std::vector<std::string> codes;
  for (size_t i = 0; i < answers.size(); ++i) {
    const Candidate& answer = answers[i];
    const std::string break_before = i > 0 ? "\n\n" : "";
    whole.plan += fmt::format("{}Part {}.\n{}", break_before, i + 1, answer.plan);
    whole.answer += break_before + answer.answer;
    whole.tokens =
        whole.tokens && answer.tokens ? std::optional(*whole.tokens + *answer.tokens) : std::nullopt;
    if (whole.no_answer.empty() && !answer.no_answer.empty()) {
      const size_t reason = answer.no_answer.find(": ") + 2;
      whole.no_answer = fmt::format("{}of part {}: {}", answer.no_answer.substr(0, reason), i + 1,
                                    answer.no_answer.substr(reason));
    }
    codes.push_back(answer.source);
  }
  if (!whole.no_answer.empty()) return whole;
  if (auto file = FileOf(FileOfParts(*request.program, parts, codes), request)) {
    whole.source = std::move(*file);
  } else {
    whole.no_answer = kNoModule;
  }
  return whole;
}

}  // namespace

PartsProposer::PartsProposer(std::unique_ptr<Proposer> whole, PartsOptions options)
    : whole_(std::move(whole)), options_(options) {
  TRITOGEN_CHECK(options.operations >= 0 && options.most >= 0);
}

bool PartsProposer::IsRefused(const ProposeRequest& request) {
  TRITOGEN_CHECK(request.program != nullptr);
  const int64_t count = OperationsOf(*request.program);
  if (options_.most == 0 || count <= options_.most) return false;
  remarks_.push_back(
      fmt::format("{}: not asked: the program has {} operations, and answers to more than {} take long "
                  "without a GPU (--proposer {} asks it all the same)",
                  name(), count, options_.most, name()));
  return true;
}

bool PartsProposer::IsLong(const ProposeRequest& request) const {
  if (options_.operations == 0 || OperationsOf(*request.program) <= options_.operations) return false;
  const bool unknown = std::ranges::any_of(request.program->nodes, [](const Node& node) {
    return node.kind == NodeKind::kOp && FindOp(node.op) == nullptr;  // the other one says that itself
  });
  return !unknown;
}

PartsProposer::Open PartsProposer::Opened(const ProposeRequest& request) const {
  Open open{.request = request};
  std::map<int, std::vector<int>, std::greater<>> samples;  // by the operations of a part
  if (request.wrong != nullptr) {
    samples[1] = {0};
  } else {
    for (int i = 0; i < request.count; ++i) samples[ComputingOf(i, options_.operations)].push_back(i);
  }
  for (auto& [computing, numbers] : samples) {
    Way way{
        .parts = CutIntoParts(*request.program, {.operations = options_.operations, .computing = computing}),
        .numbers = std::move(numbers)};
    way.answers.assign(way.numbers.size(), std::vector<Candidate>(way.parts.size()));
    open.waiting += static_cast<int>(way.parts.size());
    open.ways.push_back(std::move(way));
  }
  return open;
}

ProposeRequest PartsProposer::PartRequest(const Open& open, const Way& way, size_t part) {
  return {.program = &way.parts[part].program,
          .entry = "Model",
          .strict = open.request.strict,
          .seed = open.request.seed,
          .count = static_cast<int>(way.numbers.size())};
}

// A sample's candidate when this answer was its last one.
std::optional<Candidate> PartsProposer::Take(const Open& open, Way* way, size_t part, Candidate answer) {
  const auto sample = static_cast<size_t>(answer.number);
  if (answer.number < 0 || sample >= way->answers.size()) return std::nullopt;
  std::vector<Candidate>& parts = way->answers[sample];
  parts[part] = std::move(answer);
  if (std::ranges::any_of(parts, [](const Candidate& one) { return one.number < 0; })) return std::nullopt;
  Candidate whole = PutTogether(open.request, way->parts, parts, way->numbers[sample]);
  whole.strategy = open.request.wrong != nullptr
                       ? open.request.wrong->strategy + " again"
                       : fmt::format("#{} in {} parts", whole.number + 1, parts.size());
  if (ChatModel* model = chat(); model != nullptr && open.request.wrong == nullptr)
    whole.strategy = fmt::format("{} {}", model->model(), whole.strategy);
  return whole;
}

void PartsProposer::Begin(std::string id, const ProposeRequest& request) {
  if (IsRefused(request)) return refused_.push_back(std::move(id));
  if (!IsLong(request)) return whole_->Begin(std::move(id), request);
  const auto [at, fresh] = open_.emplace(id, Opened(request));
  TRITOGEN_CHECK(fresh);
  Open& open = at->second;
  for (size_t way = 0; way < open.ways.size(); ++way) {
    for (size_t part = 0; part < open.ways[way].parts.size(); ++part) {
      whole_->Begin(fmt::format("{}/{}/{}", id, way, part), PartRequest(open, open.ways[way], part));
    }
  }
}

std::optional<Proposal> PartsProposer::Next(double timeout_seconds) {
  if (!refused_.empty()) {
    Proposal none{.id = std::move(refused_.back())};
    refused_.pop_back();
    return none;
  }
  auto proposal = whole_->Next(timeout_seconds);
  if (!proposal) return std::nullopt;
  const size_t last = proposal->id.rfind('/');
  if (last == std::string::npos) return proposal;
  const size_t first = proposal->id.rfind('/', last - 1);
  Proposal whole{.id = proposal->id.substr(0, first), .last = false};
  const auto found = open_.find(whole.id);
  if (found == open_.end()) return whole;  // cancelled before
  Open& open = found->second;
  Way& way = open.ways.at(std::stoul(proposal->id.substr(first + 1)));
  const size_t part = std::stoul(proposal->id.substr(last + 1));
  for (Candidate& answer : proposal->candidates) {
    if (auto candidate = Take(open, &way, part, std::move(answer)))
      whole.candidates.push_back(std::move(*candidate));
  }
  open.waiting -= proposal->last;
  whole.last = open.waiting == 0;
  if (whole.last) open_.erase(found);
  return whole;
}

void PartsProposer::Cancel() {
  whole_->Cancel();
  open_.clear();
  refused_.clear();
}

std::vector<std::string> PartsProposer::TakeRemarks() {
  std::vector<std::string> remarks = std::exchange(remarks_, {});
  for (std::string& remark : whole_->TakeRemarks()) remarks.push_back(std::move(remark));
  return remarks;
}

std::vector<Candidate> PartsProposer::Propose(const ProposeRequest& request) {
  return ProposeAll({&request, 1})[0];
}

std::vector<std::vector<Candidate>> PartsProposer::ProposeAll(std::span<const ProposeRequest> requests) {
  // The other one's ProposeAll, which shows progress and can be given up, with requests for parts in place
  // of those for long programs.
  struct Asked {
    size_t request, way = 0, part = 0;
  };
  std::map<size_t, Open> opened;
  std::vector<Asked> asked;
  std::vector<ProposeRequest> all;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (IsRefused(requests[i])) continue;
    if (!IsLong(requests[i])) {
      asked.push_back({i});
      all.push_back(requests[i]);
      continue;
    }
    Open& open = opened.emplace(i, Opened(requests[i])).first->second;
    for (size_t way = 0; way < open.ways.size(); ++way) {
      for (size_t part = 0; part < open.ways[way].parts.size(); ++part) {
        asked.push_back({i, way, part});
        all.push_back(PartRequest(open, open.ways[way], part));
      }
    }
  }
  std::vector<std::vector<Candidate>> answers = whole_->ProposeAll(all), candidates(requests.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto open = opened.find(asked[i].request);
    for (Candidate& answer : answers[i]) {
      std::optional<Candidate> candidate =
          open == opened.end()
              ? std::optional(std::move(answer))
              : Take(open->second, &open->second.ways[asked[i].way], asked[i].part, std::move(answer));
      if (candidate) candidates[asked[i].request].push_back(std::move(*candidate));
    }
  }
  return candidates;
}

}  // namespace tritogen
