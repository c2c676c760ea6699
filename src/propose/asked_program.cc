#include "propose/asked_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/splitmix.h"
#include "program/catalogue.h"
#include "program/print.h"
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

// A file that an answer to a part is judged against; empty where nobody knows what an input may hold.
std::string ReferenceOf(const Program& part) {
  std::vector<std::string> inputs;
  for (const Node& node : part.nodes) {
    if (node.kind == NodeKind::kOp) continue;
    const Shape& shape = node.results[0];
    if (!IsFloating(shape.dtype) && shape.dtype != Dtype::kBool) return "";
    const std::string drawn = fmt::format("torch.randn([{}])", fmt::join(shape.sizes, ", "));
    inputs.push_back(shape.dtype == Dtype::kBool
                         ? drawn + " > 0"
                         : fmt::format("{}.to(torch.{})", drawn, DtypeName(shape.dtype)));
  }
  return ModelFile(PrintProgram(part), inputs);
}

}  // namespace

bool IsAskedPlainly(const Program& program, const PolicyOptions& options) {
  const bool is_long = options.operations > 0 && OperationsOf(program) > options.operations;
  const bool is_large = options.largest > 0 && HasProduct(program) && HasSizeAbove(program, options.largest);
  return (!is_long && !is_large) ||
         FindUnknown(program) != nullptr;  // unknown operations the model itself refuses
}

bool AskedProgram::Way::complete() const {
  return !right.empty() && std::ranges::none_of(right, &std::vector<const Candidate*>::empty);
}

AskedProgram::AskedProgram(const ProposeRequest& request, const PolicyOptions& options, std::string model)
    : request_(request), options_(options), model_(std::move(model)) {
  whole_ = options_.operations == 0 || OperationsOf(*request_.program) <= options_.operations;
  judged_ = options_.judges_parts && request_.judges_pieces && !whole_;
  const auto limits_of = [&](int sample) {
    return whole_ ? std::nullopt : std::optional(LimitsOf(*request_.program, sample, options_.operations));
  };
  if (request_.wrong == nullptr) {
    for (int i = 0; i < request_.count; ++i)
      AddWaySample(limits_of(i), !whole_ && (i % 4 == 1 || i % 4 == 2) ? 1 : 0);
  } else if (!judged_) {  // else parts without a right answer have been asked about again
    AddWaySample(limits_of(3), static_cast<int>(request_.seed % 2));
  }
}

void AskedProgram::AddWaySample(const std::optional<PartLimits>& limits, int first_turn) {
  const auto way = std::ranges::find(ways_, limits, &Way::limits);
  const auto place = static_cast<size_t>(way - ways_.begin());
  if (way == ways_.end()) ways_.push_back(WayOf(limits, first_turn));
  AddSample(place);
}

AskedProgram::Way AskedProgram::WayOf(const std::optional<PartLimits>& limits, int first_turn) const {
  Way way{.limits = limits, .next_turn = first_turn};
  if (limits) {
    way.parts = CutIntoParts(*request_.program, *limits);
  } else {
    way.parts.push_back(WholePart(*request_.program));
  }
  for (const ProgramPart& part : way.parts) {
    const bool may_be_small = options_.largest > 0 && HasProduct(part.program);
    way.resized.push_back(may_be_small ? WithSmallSizes(part.program, options_.largest, request_.seed)
                                       : std::nullopt);
  }
  return way;
}

void AskedProgram::AddSample(size_t place) {
  Way& way = ways_[place];
  const int turn = way.next_turn++;
  Sample sample{.way = place, .answers = std::vector<Candidate>(way.parts.size())};
  for (size_t part = 0; part < way.parts.size(); ++part) {
    const bool small = way.resized[part] && IsSmall(turn, part);
    sample.small |= small;
    const auto [at, fresh] = way.questions.emplace(std::pair(part, small), questions_.size());
    if (fresh) AddQuestion(place, part, small);
    Question& question = questions_[at->second];
    question.samples.push_back(samples_.size());
    ++question.count;
  }
  samples_.push_back(std::move(sample));
}

size_t AskedProgram::AddQuestion(size_t place, size_t part, bool small) {
  const Way& way = ways_[place];
  questions_.push_back(small ? Question{place, part, way.resized[part]->program, way.resized[part]->back}
                             : Question{place, part, way.parts[part].program, {}});
  ++waiting_;
  return questions_.size() - 1;
}

// Each question has a seed of its own: equal parts of two ways get unlike answers.
ProposeRequest AskedProgram::RequestFor(size_t place) const {
  const Question& question = questions_[place];
  return {.program = &question.program,
          .entry = "Model",
          .strict = request_.strict,
          .fp32_precision = request_.fp32_precision,
          .seed = SplitMix::At(request_.seed, place),
          .count = question.count};
}

std::optional<Candidate> AskedProgram::Take(size_t place, Candidate answer) {
  const Question& question = questions_[place];
  if (answer.number < 0 || answer.number >= question.count) return std::nullopt;
  for (std::string* text : {&answer.source, &answer.plan}) *text = TakenBack(*text, question.back);
  if (judged_) Submit(question.way, question.part, answer);
  if (question.samples.empty()) return std::nullopt;
  const size_t number = question.samples[answer.number];
  Sample& sample = samples_[number];
  sample.answers[question.part] = std::move(answer);
  const bool complete =
      std::ranges::none_of(sample.answers, [](const Candidate& one) { return one.number < 0; });
  if (!complete || judged_) return std::nullopt;
  return CandidateOf(sample, number);
}

void AskedProgram::Submit(size_t way, size_t part, const Candidate& answer) {
  if (!answer.no_answer.empty()) return;
  const auto [at, fresh] =
      by_source_.emplace(std::pair(std::pair(way, part), answer.source), judgements_.size());
  if (!fresh) return;
  judgements_.push_back({way, part, answer});
  std::string reference = ReferenceOf(ways_[way].parts[part].program);
  if (reference.empty()) {
    judgements_.back().passed = true;  // as far as anybody knows
    return;
  }
  ++judging_;
  pieces_.push_back({static_cast<int64_t>(at->second), std::move(reference), answer.source});
}

void AskedProgram::Judged(int64_t piece, bool passed) {
  judgements_.at(static_cast<size_t>(piece)).passed = passed;
  --judging_;
}

void AskedProgram::FindRight() {
  for (Way& way : ways_) way.right.assign(way.parts.size(), {});
  for (const PartJudgement& one : judgements_) {
    if (one.passed) ways_[one.way].right[one.part].push_back(&one.answer);
  }
}

std::vector<size_t> AskedProgram::AskAgain() {
  TRITOGEN_CHECK(!waits());
  if (!judged_ || asked_again_ || ways_.empty()) return {};
  asked_again_ = true;
  FindRight();
  if (std::ranges::any_of(ways_, &Way::complete)) return {};
  const auto lacking = [](const Way& way) {
    return std::ranges::count_if(way.right, &std::vector<const Candidate*>::empty);
  };
  const auto way = std::ranges::min_element(ways_, {}, lacking);
  std::vector<size_t> asked;
  for (size_t part = 0; part < way->parts.size(); ++part) {
    if (!way->right[part].empty()) continue;
    for (const bool small : {false, true}) {
      if (small && !way->resized[part]) continue;
      asked.push_back(AddQuestion(static_cast<size_t>(way - ways_.begin()), part, small));
      questions_.back().count = request_.count;
    }
  }
  return asked;
}

// Wrong answers give way to right ones to the same part, each in its turn.
AskedProgram::Sample AskedProgram::WithRightAnswers(Sample sample, size_t turn) const {
  const Way& way = ways_[sample.way];
  for (size_t part = 0; part < way.parts.size(); ++part) {
    const auto& right = way.right[part];
    const bool is_right = std::ranges::any_of(
        right, [&](const Candidate* one) { return one->source == sample.answers[part].source; });
    if (is_right || right.empty()) continue;
    sample.answers[part] = *right[turn % right.size()];
    turn /= right.size();
  }
  return sample;
}

std::vector<Candidate> AskedProgram::Assembled() {
  TRITOGEN_CHECK(!waits());
  std::vector<Candidate> candidates;
  if (!judged_) return candidates;
  FindRight();
  std::vector<size_t> complete;
  for (size_t i = 0; i < ways_.size(); ++i) {
    if (ways_[i].complete()) complete.push_back(i);
  }
  for (size_t number = 0; number < samples_.size(); ++number) {
    Sample sample = samples_[number];
    if (!complete.empty() && !ways_[sample.way].complete()) {  // another way's, of right answers only
      const size_t way = complete[number % complete.size()];
      sample = {.way = way, .answers = std::vector<Candidate>(ways_[way].parts.size())};
    }
    sample = WithRightAnswers(std::move(sample), number);
    if (std::ranges::none_of(sample.answers, [](const Candidate& one) { return one.number < 0; }))
      candidates.push_back(CandidateOf(sample, number));
  }
  return candidates;
}

Candidate AskedProgram::CandidateOf(const Sample& sample, size_t number) const {
  const auto& parts = ways_[sample.way].parts;
  Candidate whole = Gathered(sample.answers);
  whole.number = static_cast<int>(number);
  whole.strategy = request_.wrong != nullptr
                       ? request_.wrong->strategy + " again"
                       : fmt::format("{} #{}{}{}", model_, number + 1,
                                     whole_ ? "" : fmt::format(" in {} parts", parts.size()),
                                     sample.small ? " by small sizes" : "");
  if (!whole.no_answer.empty()) return whole;
  std::vector<std::string> codes;
  for (const Candidate& one : sample.answers) codes.push_back(one.source);
  auto file = FileOf(whole_ ? codes[0] : FileOfParts(*request_.program, parts, codes), request_);
  if (file) {
    whole.source = std::move(*file);
  } else {
    whole.no_answer = kNoModule;
  }
  return whole;
}

}  // namespace tritogen
