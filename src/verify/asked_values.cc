#include "verify/asked_values.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "device/aten_dtype.h"
#include "device/random.h"
#include "plan/visit.h"
#include "verify/asked_choices.h"
#include "verify/asked_ties.h"
#include "verify/inputs.h"
#include "verify/local_flow.h"

namespace tritogen {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kTimes = 2, kTimesMixed = 16;  // each is planted so often, where there is room
constexpr double kBeyond = 2, kFarBeyond = 2000;

// Calls that treat NaN, or Inf, as no other number.
constexpr std::string_view kAskForNan[] = {"aten::isnan", "aten::nansum", "aten::nanmedian", "aten::fmax",
                                           "aten::fmin"};
constexpr std::string_view kAskForInf[] = {"aten::isinf", "aten::isposinf", "aten::isneginf"};
constexpr std::string_view kBounded[] = {"aten::clamp", "aten::clamp_min", "aten::clamp_max",
                                         "aten::clip",  "aten::hardtanh",  "aten::threshold"};

// Calls that jump at numbers of theirs, or at whole numbers and halves of them.
constexpr std::string_view kSteps[] = {"aten::threshold", "aten::hardshrink", "aten::histc"};
constexpr std::string_view kRoundings[] = {"aten::round", "aten::floor", "aten::ceil", "aten::trunc",
                                           "aten::frac"};
constexpr double kWholes[] = {-3, -2, -1, 2, 3};
constexpr double kUsualStep = 0.5;  // of hardshrink

// Who rounds by a cast to int32 is right below. Planted only where one such element hides no other.
constexpr double kBeyondInt32 = 0x1p32;

// Calls that are given what lies beside an end of what they are defined for by no other trial: who adds an
// epsilon there or keeps away from it is right everywhere else. Only what is given an input as it is: what is
// made of it may be rounded to the end itself.
constexpr std::string_view kLogarithms[] = {"aten::log", "aten::log2", "aten::log10", "aten::logit"};
constexpr std::string_view kWithinOne[] = {"aten::atanh", "aten::erfinv"};
// hypot is defined where its squares are not.
constexpr double kNearZero = 0x1p-80, kNearOne = 1 - 0x1p-10, kBeyondSquares = 0x1p80;

// Beyond what float32 counts to, and what int32 holds. Behind a division those that are negative, or may
// become so, are left out.
constexpr double kFarIntegers[] = {0x1p24 + 1, 0x1p31 - 1};
constexpr double kFartherIntegers[] = {-1, -6, -0x1p24 - 1, 1 - 0x1p31, 0x1p33 + 5};

// Calls to which the sign of a zero matters.
constexpr std::string_view kAskForSigns[] = {"aten::signbit", "aten::copysign", "aten::atan2"};

// NaN has no order, and zeros of both signs have none between them: they are kept apart.
struct Values {
  bool nan = false, negative_zero = false, rounds = false, mixed = false;
  bool apart = true;  // elements stay so, and are no integers, up to the outputs
  std::set<double> beyond, exactly;
  std::set<double> ends;  // beside those of what a call is defined for
};

void AddScalars(const AtenStep& step, bool compares, Values* values) {
  const auto add = [&](const Value& value) {
    const auto* real = std::get_if<double>(&value.v);
    const auto* integer = std::get_if<int64_t>(&value.v);
    if (real == nullptr && integer == nullptr) return;
    const double number = real != nullptr ? *real : static_cast<double>(*integer), size = std::abs(number);
    if (size >= kLeastLarge) values->beyond.insert(size);
    if (compares && std::isfinite(number)) values->exactly.insert(number);
  };
  for (const Value& value : step.args) add(value);
  for (const auto& [name, value] : step.kwargs) add(value);
}

bool MakesIntegers(const Plan& plan, const AtenStep& step) {
  return std::ranges::any_of(
      step.outs, [&](TensorId id) { return id != kNoTensor && IsInteger(plan.tensors[id].dtype); });
}

// `x == x` is false for NaN alone.
bool ComparesWithItself(const AtenStep& step) {
  return step.args.size() == 2 && std::holds_alternative<TensorRef>(step.args[0].v) &&
         step.args[0] == step.args[1];
}

std::set<double> EndsOf(const AtenStep& step) {
  const std::string_view name = OutOfPlaceName(step);
  if (OneOf(name, kLogarithms) || step.op == "aten::pow.Tensor_Tensor") return {kNearZero};
  if (OneOf(name, kWithinOne)) return {-kNearOne, kNearOne};
  if (name == "aten::hypot") return {-kBeyondSquares, kBeyondSquares};
  return {};
}

Values AskedBy(const Plan& plan, const AtenStep& step) {
  Values values;
  const std::string_view name = OutOfPlaceName(step);
  const bool compares = IsComparison(step);
  const bool all = name == "aten::nan_to_num";
  values.nan = all || OneOf(name, kAskForNan) || (compares && ComparesWithItself(step));
  if (all || OneOf(name, kAskForInf)) values.beyond.insert(kInf);
  const bool steps = OneOf(name, kSteps);
  if (compares || steps || OneOf(name, kBounded)) AddScalars(step, compares || steps, &values);
  if (name == "aten::hardshrink") {
    if (values.exactly.empty()) values.exactly.insert(kUsualStep);
    for (const double step_at : std::set<double>(values.exactly)) values.exactly.insert(-step_at);
  }
  values.exactly.merge(TiesWithin(plan, step));
  values.rounds = OneOf(name, kRoundings);
  if (values.rounds) values.exactly.insert(std::begin(kWholes), std::end(kWholes));
  values.negative_zero = OneOf(name, kAskForSigns);
  values.ends = EndsOf(step);
  return values;
}

void Add(const Values& asked, const Arrival& arrival, bool apart, Values* values) {
  values->rounds |= asked.rounds;
  values->apart &= apart;
  values->negative_zero |= asked.negative_zero;
  values->beyond.insert(asked.beyond.begin(), asked.beyond.end());
  for (const double number : asked.exactly) {
    const double value = (number - arrival.plus) / arrival.times;
    if (value == 0) continue;  // which other trials have
    values->exactly.insert(value);
    values->mixed |= arrival.mixed;
  }
  for (const double end : asked.ends) {
    if (arrival.plain) values->ends.insert(end / arrival.times);
  }
}

// What is put into a tensor of this dtype.
std::vector<double> Planted(const Asked& asked, at::ScalarType dtype, double strength) {
  const double most = LargestOf(dtype);
  std::vector<double> planted;
  for (const auto* values : {&asked.exactly, &asked.beside}) {
    for (const double value : *values) {
      if (at::tensor(value, at::kDouble).to(dtype).to(at::kDouble).item<double>() == value)
        planted.push_back(value);
    }
  }
  for (const double value : asked.beyond) {
    if (!std::isfinite(value)) planted.push_back(value);
    if (value == kInf) planted.push_back(-kInf);
    if (!std::isfinite(value)) continue;
    for (const double times : {kBeyond, kFarBeyond}) {
      if (value * times > most || (times == kFarBeyond && strength < 1)) continue;
      planted.insert(planted.end(), {value * times, -value * times});
    }
  }
  return planted;
}

// Who counts on an order gets another one of the kind. In each line the least becomes the first choice and
// the largest the last one, in a tensor of short lines, or where something is written there, those of all:
// what was in order stays so, and what was distinct.
at::Tensor WithEndsOf(int64_t choices, bool writes, const at::Tensor& x) {
  constexpr int64_t kShort = 2;
  if (x.numel() > 1 && x.eq(x.min()).all().item<bool>()) {  // nobody was distinct: the first, then the last
    const at::Tensor places = at::arange(x.numel(), x.options()).view(x.sizes());
    return at::where(places < x.numel() / 2, 0, choices - 1);
  }
  const bool alone = writes || x.dim() == 0 || x.size(-1) <= kShort;
  const at::Tensor chosen = !alone && IsAscending(x) ? Delayed(x) : x;
  const at::Tensor least = alone ? x.min() : x.amin(-1, true), most = alone ? x.max() : x.amax(-1, true);
  return at::where(chosen.eq(least), 0, at::where(chosen.eq(most), choices - 1, chosen));
}

// Each value in as many places as there is room for, `times` at most; in small tensors chance says which of
// them there is room for.
at::Tensor WithValues(const std::vector<double>& values, const at::Tensor& x, const Random& random,
                      int64_t times = kTimes) {
  const auto count = static_cast<int64_t>(values.size());
  if (count == 0) return x;
  const int64_t places = std::clamp<int64_t>(x.numel() / 4, 1, times * count);
  const at::Tensor order = random.Permutation(count).repeat({times}).slice(0, 0, places);
  const at::Tensor chosen = at::tensor(values, at::kDouble).to(x.device()).index_select(0, order);
  const at::Tensor where = random.Permutation(x.numel()).slice(0, 0, places);
  return at::empty_like(x).copy_(
      x.contiguous().flatten().index_put({where}, chosen.to(x.scalar_type())).view(x.sizes()));
}

// Of a number that integers from `least` to `most` are compared with, and its neighbours: those among them,
// and the nearest beyond them that makes the comparison come out as no generated one does, which is
// `turning`.
void AddCompared(const ComparedInteger& compared, double least, double most, std::vector<double>* values,
                 std::vector<double>* turning) {
  const bool same = compared.op == "aten::eq" || compared.op == "aten::ne";
  const auto number = static_cast<double>(compared.number);
  const bool turns = same ? least <= number && number <= most && least < most
                          : compared.Holds(least) != compared.Holds(most);
  const double start = least, end = most;
  std::optional<double> nearest;
  const auto distance = [&](double value) { return std::max(start - value, value - end); };
  for (const int64_t integer : compared.bounded) {
    const auto value = static_cast<double>(integer);
    if (turns || compared.Holds(value) == compared.Holds(least)) continue;
    if (!nearest || distance(value) < distance(*nearest)) nearest = value;
  }
  if (nearest) turning->push_back(*nearest);
  least = std::min(least, nearest.value_or(least));
  most = std::max(most, nearest.value_or(most));
  for (const double value : {number - 1, number, number + 1}) {
    const bool bounded = std::ranges::find(compared.bounded, value) != compared.bounded.end();
    if (value >= least && value <= most && (bounded || (value >= start && value <= end)))
      values->push_back(value);
  }
}

// Lines that are in order stay so: of values that lie below or above all that was generated.
at::Tensor WithOuter(const std::vector<double>& values, const at::Tensor& x) {
  at::Tensor changed = x.clone();
  const double most = x.max().to(at::kDouble).item<double>();
  for (const double value : values) changed.select(-1, value > most ? -1 : 0).fill_(value);
  return changed;
}

at::Tensor WithIntegers(const Asked& asked, const at::Tensor& x, const Random& random, double strength) {
  const AskedIntegers& integers = asked.integers;
  at::Tensor changed =
      integers.choices ? at::empty_like(x).copy_(WithEndsOf(*integers.choices, integers.writes, x)) : x;
  const double least = x.min().to(at::kDouble).item<double>(), most = x.max().to(at::kDouble).item<double>();
  const bool is_signed = c10::isSignedType(x.scalar_type());
  const double end = std::ldexp(1, static_cast<int>(x.element_size()) * 8 - is_signed),
               start = is_signed ? -end : 0;
  // Of two numbers, or one, nobody knows whether they are flags.
  const bool flags = most - least <= 1 || IsTwoValued(x);
  const bool places = IsAscending(x);  // of something, perhaps
  const bool categories = integers.ranked && most - least < kMostCategories;
  const bool any = !flags && !places && !categories;
  if (integers.whole_range && !flags)
    changed = at::empty_like(x).copy_(random.Uniform(x.sizes(), start, end).floor());
  std::vector<double> values;
  const auto add = [&](double value) {
    const bool generated = value >= least && value <= most;
    if (integers.within_generated ? generated : value >= start && value < end) values.push_back(value);
  };
  for (const int64_t named : integers.named) add(static_cast<double>(named));
  if (integers.far_numbers && any) std::ranges::for_each(kFarIntegers, add);
  if (integers.negative && any) std::ranges::for_each(kFartherIntegers, add);
  std::vector<double> turning, between;
  for (ComparedInteger compared : integers.compared) {
    if (strength < 1) compared.bounded.clear();  // the reference may have failed of these
    AddCompared(compared, least, most, &between, &turning);
  }
  if (integers.span && !flags) {
    const auto span = static_cast<double>(*integers.span);
    turning.insert(turning.end(), {least - span, most + span});
  }
  if (!places) values.insert(values.end(), between.begin(), between.end());
  const auto is_none = [&](double value) { return value < start || value >= end; };
  std::erase_if(values, is_none);
  std::erase_if(turning, is_none);
  changed = WithValues(values, changed, random);
  return places ? WithOuter(turning, changed) : WithValues(turning, changed, random);
}

}  // namespace

AskedValues AskedValuesOf(const Plan& plan) {
  const std::vector<TensorId> leaves = TensorLeaves(plan.inputs);
  InputFlow flow(plan);
  std::vector<Values> values(leaves.size());
  for (const Step& each : plan.run) {
    const auto* step = std::get_if<AtenStep>(&each);
    if (step == nullptr) continue;
    const Values asked = AskedBy(plan, *step);
    const bool apart = IsLocal(plan, *step) && !MakesIntegers(plan, *step);
    const InputFlow::Arrived arrived = flow.Pass(*step);
    for (const auto& [leaf, arrival] : arrived.local) Add(asked, arrival, apart, &values[leaf]);
    // One element is enough for a sum beyond a bound.
    for (const size_t leaf : arrived.summed) {
      std::ranges::copy_if(asked.beyond, std::inserter(values[leaf].beyond, values[leaf].beyond.end()),
                           [](double value) { return std::isfinite(value); });
    }
    // What asks for NaN makes numbers of it, so that it stays in its row behind a product.
    for (const size_t leaf : arrived.anywhere) values[leaf].nan |= asked.nan;
  }
  AskedValues asked;
  for (size_t i = 0; i < leaves.size(); ++i) {
    Asked& of_leaf = asked.emplace_back();
    const Dtype dtype = plan.tensors[leaves[i]].dtype;
    if (IsInteger(dtype)) of_leaf.integers = AskedIntegersOf(plan, leaves[i]);
    if (!IsFloating(dtype)) continue;
    of_leaf.beyond.assign(values[i].beyond.begin(), values[i].beyond.end());
    if (values[i].nan) of_leaf.beyond.push_back(kNan);
    if (values[i].rounds && values[i].apart) values[i].exactly.insert({-kBeyondInt32, kBeyondInt32});
    of_leaf.mixed = values[i].mixed;
    of_leaf.exactly.assign(values[i].exactly.begin(), values[i].exactly.end());
    of_leaf.beside.assign(values[i].ends.begin(), values[i].ends.end());
    if (values[i].negative_zero) of_leaf.exactly.push_back(-0.0);
  }
  return asked;
}

bool AsksForAny(const AskedValues& asked) {
  return std::ranges::any_of(asked, [](const auto& of_leaf) { return !of_leaf.empty(); });
}

AskedValues TakeMissing(AskedValues* asked) {
  AskedValues missing;
  for (Asked& of_leaf : *asked) {
    const bool nan = std::erase_if(of_leaf.beyond, [](double value) { return std::isnan(value); }) > 0;
    missing.emplace_back();
    if (nan) missing.back().beyond.push_back(kNan);
  }
  return missing;
}

AskedValues MinusInfOf(const AskedValues& asked) {
  AskedValues minus;
  for (const Asked& of_leaf : asked) {
    minus.emplace_back();
    if (std::ranges::find(of_leaf.beyond, kInf) != of_leaf.beyond.end()) minus.back().beyond.push_back(-kInf);
  }
  return minus;
}

std::vector<at::Tensor> PlantAsked(const AskedValues& asked, const std::vector<at::Tensor>& generated,
                                   uint64_t seed, double strength) {
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < generated.size(); ++i) {
    const at::Tensor& x = generated[i];
    inputs.push_back(x);
    if (asked[i].empty() || !x.is_non_overlapping_and_dense() || x.numel() == 0) continue;
    const Random random(SubSeed(seed, i), x.device());
    if (!at::isFloatingType(x.scalar_type())) {
      inputs.back() = WithIntegers(asked[i], x, random, strength);
      continue;
    }
    if (IsTwoValued(x)) continue;
    const std::vector<double> values = Planted(asked[i], x.scalar_type(), strength);
    inputs.back() = WithValues(values, x, random, asked[i].mixed ? kTimesMixed : kTimes);
  }
  return inputs;
}

}  // namespace tritogen
