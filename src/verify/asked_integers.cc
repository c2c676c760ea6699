#include "verify/asked_integers.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "plan/visit.h"
#include "verify/asked_choices.h"
#include "verify/integer_bounds.h"
#include "verify/local_flow.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// PyTorch's own default, which every call has: nobody has named it.
constexpr int64_t kIgnoredByDefault = -100;

constexpr size_t kMostCompared = 8;  // each takes three walks through forward
constexpr int64_t kMostSpan = int64_t{1} << 24;
constexpr int64_t kFarthest = int64_t{1} << 62;  // so that there are numbers beside

constexpr std::string_view kDivisions[] = {"aten::div", "aten::floor_divide", "aten::remainder",
                                           "aten::fmod"};
constexpr std::string_view kSumsOfTwo[] = {"aten::add", "aten::sub", "aten::rsub"};
// By size, of what may be categories: what makes places alone, and what makes numbers (and places behind
// them). Who takes extrema has numbers.
constexpr std::string_view kPlaces[] = {"aten::argmax", "aten::argmin", "aten::argsort", "aten::bucketize",
                                        "aten::searchsorted"};
constexpr std::string_view kRanks[] = {"aten::sort",   "aten::topk",          "aten::cummax",
                                       "aten::cummin", "aten::kthvalue",      "aten::median",
                                       "aten::mode",   "aten::scatter_reduce"};
constexpr std::string_view kExtrema[] = {"aten::amax", "aten::amin", "aten::max", "aten::min"};

// The numbers of one input on their way through forward.
class Walk {
 public:
  Walk(const Plan& plan, TensorId leaf) : plan_(plan), leaf_(leaf), same_({plan.tensors[leaf].storage}) {}

  AskedIntegers Run(Dtype dtype) {
    const bool narrow = dtype == Dtype::kInt8 || dtype == Dtype::kUint8 || dtype == Dtype::kInt16;
    const bool wide = dtype == Dtype::kInt32 || dtype == Dtype::kInt64;
    Go();
    AskedIntegers asked{.choices = {}, .named = {}, .within_generated = unknown_};
    for (const int64_t value : named_) {
      if (!choices_ || unknown_ || (value >= 0 && value < *choices_)) asked.named.push_back(value);
    }
    const bool ignores = ignored_ && !unknown_ && !chooses_otherwise_;
    if (ignores && std::ranges::find(asked.named, *ignored_) == asked.named.end())
      asked.named.push_back(*ignored_);
    const bool computed = computed_ && !unknown_ && !choices_;
    asked.whole_range = narrow && computed;
    if (computed && !measures_) asked.span = span_;
    asked.far_numbers = wide && computed && !measures_ && !leaves_integers_;
    asked.flags =
        computed && !measures_ && std::ranges::all_of(named_, [](int64_t n) { return n == 0 || n == 1; });
    asked.negative = asked.far_numbers && !divides_;
    asked.sinks = asked.negative && (ordered_ || ranked_);
    asked.ranked = ranked_;
    if (wide && !computed_ && !unknown_) asked.choices = choices_;
    asked.writes = writes_;
    for (const auto& [op, number] : compared_) {
      if (asked.compared.size() < kMostCompared) asked.compared.push_back(Bounded(op, number));
    }
    return asked;
  }

  bool Chooses() {
    Go();
    return reads_;
  }

 private:
  void Go() {
    for (const Step& each : plan_.run) {
      std::set<TensorId> used;
      ForEachUse(each, [&](TensorId id) {
        if (same_.contains(StorageOf(id)) || derived_.contains(StorageOf(id))) used.insert(id);
      });
      if (used.empty()) continue;
      const auto* step = std::get_if<AtenStep>(&each);
      if (step == nullptr || (!WrittenArguments(*step).empty() && !OnlyChoosesBy(*step, used)))
        unknown_ = true;
      for (const TensorId id : used) {
        if (!unknown_) Take(*step, id);
      }
    }
  }

  // Something is written elsewhere, at places that they say.
  bool OnlyChoosesBy(const AtenStep& step, const std::set<TensorId>& used) const {
    const auto written = WrittenArguments(step);
    return std::ranges::all_of(used, [&](TensorId id) { return ChoicesIn(plan_, step, id).has_value(); }) &&
           std::ranges::none_of(written, [&](TensorId id) { return used.contains(id); });
  }

  StorageId StorageOf(TensorId id) const { return plan_.tensors[id].storage; }

  void Take(const AtenStep& step, TensorId id) {
    const bool same = same_.contains(StorageOf(id));
    const OpKind kind = KindOf(plan_, step);
    if (const auto choices = ChoicesIn(plan_, step, id)) {
      TakeChoices(step, same, *choices);
    } else if (const auto places = same ? MatchesIn(plan_, step, id) : std::nullopt) {
      choices_ = std::min(*places, choices_.value_or(*places));
    } else if (kind == OpKind::kView || kind == OpKind::kLayout) {
      Reach(step, same ? &same_ : &derived_);
    } else {
      computed_ = true;
      Compute(step, id);
    }
  }

  void Compute(const AtenStep& step, TensorId id) {
    const bool same = same_.contains(StorageOf(id));
    divides_ |= OneOf(OutOfPlaceName(step), kDivisions);
    if (!TraitsOf(step.op).known || IsPickyAbout(step, id)) {
      unknown_ = true;
    } else if (IsComparison(step)) {
      if (same) NameScalar(step);
      if (same && IsLength(plan_, step, id)) compared_.emplace("aten::gt", 0);
      measures_ |= ComparesAcross(step);
      ranked_ |= std::holds_alternative<TensorRef>(step.args.at(1).v);
    } else if (IsClamp(step) && (same || IsBounded(step))) {
      if (same) NameBeyond(step);  // what comes out is within
      if (summed_.contains(StorageOf(id))) Span(step);
      measures_ |= !IsBounded(step);
    } else if (IsMask(step)) {
      return;  // within, too
    } else if (IsElementwise(step)) {
      Reach(step, &derived_);
      if (OneOf(OutOfPlaceName(step), kSumsOfTwo) && (same || summed_.contains(StorageOf(id))))
        Reach(step, &summed_);
    } else if (OneOf(WithoutOverload(step.op), kPlaces)) {
      ranked_ = true;
    } else if (OneOf(WithoutOverload(step.op), kRanks)) {
      ranked_ = true;
      Reach(step, &derived_, /*most=*/1);
    } else if (OneOf(WithoutOverload(step.op), kExtrema)) {
      ordered_ = true;
      Reach(step, &derived_, /*most=*/1);
    } else if (IsInteger(plan_.tensors[id].dtype)) {
      Reach(step, &derived_);
      unknown_ |= !IsSumOfIntegers(step);
    }
  }

  // Lengths and offsets are compared with the places of something else, for each of which they count. Keys
  // may be equal to others wherever they stand.
  bool ComparesAcross(const AtenStep& step) const {
    constexpr std::string_view kSame[] = {"aten::eq", "aten::ne"};
    if (OneOf(OutOfPlaceName(step), kSame)) return false;
    const auto* one = step.args.empty() ? nullptr : std::get_if<TensorRef>(&step.args[0].v);
    const auto* other = step.args.size() < 2 ? nullptr : std::get_if<TensorRef>(&step.args[1].v);
    const auto alike = [&](const TensorRef* tensor) {
      return plan_.tensors[tensor->id].numel() == plan_.tensors[leaf_].numel();
    };
    return one != nullptr && other != nullptr && !(alike(one) && alike(other));
  }

  static bool IsBounded(const AtenStep& step) {
    const auto has = [&](const char* name) {
      const Value* value = FindArgument(step, name);
      return value != nullptr && value->v != Value{}.v;
    };
    return has("min") && has("max");
  }

  // Some of the lower bits.
  static bool IsMask(const AtenStep& step) {
    constexpr std::string_view kOps[] = {"aten::bitwise_and", "aten::__and__"};
    const auto* bits = step.args.size() < 2 ? nullptr : std::get_if<int64_t>(&step.args[1].v);
    return OneOf(OutOfPlaceName(step), kOps) && bits != nullptr && *bits >= 0;
  }

  void TakeChoices(const AtenStep& step, bool same, int64_t choices) {
    unknown_ |= !same;
    (WritesByPlaces(step) ? writes_ : reads_) = true;
    if (const auto padding = PaddingOfBags(step)) named_.insert(*padding);
    choices_ = std::min(choices, choices_.value_or(choices));
    const auto ignored = IntegerArgument(step, "ignore_index");
    chooses_otherwise_ |= !ignored || (ignored_ && *ignored_ != *ignored);
    if (ignored && *ignored != kIgnoredByDefault) ignored_ = ignored;
  }

  void NameScalar(const AtenStep& step) {
    const auto* number = step.args.size() < 2 ? nullptr : std::get_if<int64_t>(&step.args[1].v);
    if (number == nullptr) return;
    named_.insert(*number);
    if (std::abs(*number) < kFarthest) compared_.emplace(OutOfPlaceName(step), *number);
  }

  ComparedInteger Bounded(std::string_view op, int64_t number) const {
    ComparedInteger compared{.op = op, .number = number, .bounded = {}};
    for (const int64_t value : {number - 1, number, number + 1}) {
      if (StaysWithinBounds(plan_, leaf_, value)) compared.bounded.push_back(value);
    }
    return compared;
  }

  void NameBeyond(const AtenStep& step) {
    constexpr int64_t kMost = int64_t{1} << 30;
    const auto least = IntegerArgument(step, "min"), most = IntegerArgument(step, "max");
    if (least && *least > -kMost) named_.insert(*least - 1);
    if (most && *most < kMost) named_.insert(*most + 1);
  }

  void Span(const AtenStep& step) {
    const auto least = IntegerArgument(step, "min"), most = IntegerArgument(step, "max");
    if (least && most && *least < *most && *most - *least < kMostSpan)
      span_ = std::max(span_.value_or(0), *most - *least);
  }

  // What a call makes, the first so many of it.
  void Reach(const AtenStep& step, Storages* storages, size_t most = std::numeric_limits<size_t>::max()) {
    for (const TensorId id : step.outs | std::views::take(most)) {
      if (id == kNoTensor || plan_.tensors[id].dtype == Dtype::kBool) continue;
      storages->insert(StorageOf(id));
      leaves_integers_ |= !IsInteger(plan_.tensors[id].dtype);
    }
  }

  const Plan& plan_;
  TensorId leaf_;
  Storages same_, derived_;  // the numbers themselves, and what elementwise calls make of them
  Storages summed_;          // of these what sums of them and others are
  std::set<int64_t> named_;
  std::set<std::pair<std::string_view, int64_t>> compared_;
  std::optional<int64_t> choices_, ignored_, span_;
  bool chooses_otherwise_ = false;  // not by a loss that ignores one number
  bool computed_ = false;           // something else is done with them than to choose
  bool measures_ = false, leaves_integers_ = false, divides_ = false;
  bool ordered_ = false, ranked_ = false;  // taken for their size: by extrema, or as categories may be
  bool unknown_ = false;
  bool reads_ = false, writes_ = false;  // by them as places
};

}  // namespace

bool ComparedInteger::Holds(double value) const {
  return Compares(op, value, static_cast<double>(number));
}

AskedIntegers AskedIntegersOf(const Plan& plan, TensorId leaf) {
  return Walk(plan, leaf).Run(plan.tensors[leaf].dtype);
}

std::vector<std::optional<size_t>> KeysOf(const Plan& plan) {
  const std::vector<TensorId> leaves = TensorLeaves(plan.inputs);
  std::vector<std::optional<size_t>> keys(leaves.size());
  const auto leaf_of = [&](const Value& value) -> std::optional<size_t> {
    const auto* tensor = std::get_if<TensorRef>(&value.v);
    for (size_t i = 0; i < leaves.size() && tensor != nullptr; ++i) {
      const TensorMeta& leaf = plan.tensors[leaves[i]];
      if (leaf.storage != plan.tensors[tensor->id].storage || !IsInteger(leaf.dtype)) continue;
      const AskedIntegers asked = AskedIntegersOf(plan, leaves[i]);
      const bool reads = asked.within_generated || asked.writes || ChoosesUnbounded(plan, leaves[i]);
      return reads ? std::nullopt : std::optional(i);
    }
    return std::nullopt;
  };
  for (const Step& each : plan.run) {
    const auto* step = std::get_if<AtenStep>(&each);
    if (step == nullptr || step->args.size() < 2 || OutOfPlaceName(*step) != "aten::eq") continue;
    const auto one = leaf_of(step->args[0]), other = leaf_of(step->args[1]);
    if (!one || !other || *one == *other) continue;
    const size_t first = std::min(keys[*one].value_or(*one), keys[*other].value_or(*other));
    keys[*one] = keys[*other] = first;
  }
  return keys;
}

bool ChoosesUnbounded(const Plan& plan, TensorId leaf) {
  return Walk(plan, leaf).Chooses();
}

}  // namespace tritogen
