#include "verify/asked_integers.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "plan/visit.h"
#include "verify/local_flow.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// PyTorch's own default, which every call has: nobody has named it.
constexpr int64_t kIgnoredByDefault = -100;

constexpr std::string_view kBounds[] = {"aten::clamp", "aten::clamp_min", "aten::clamp_max", "aten::clip"};
// Of whose second argument not every number will do, or none that is negative.
constexpr std::string_view kPicky[] = {
    "div",        "remainder",  "fmod", "floor_divide", "bitwise_left_shift", "bitwise_right_shift",
    "__lshift__", "__rshift__", "pow",  "ldexp"};
constexpr std::string_view kSums[] = {"aten::sum",  "aten::mean", "aten::prod",    "aten::cumsum",
                                      "aten::mm",   "aten::bmm",  "aten::matmul",  "aten::linear",
                                      "aten::dot",  "aten::mv",   "aten::_int_mm", "aten::amax",
                                      "aten::amin", "aten::max",  "aten::min"};
constexpr std::string_view kDivisions[] = {"aten::div", "aten::floor_divide", "aten::remainder",
                                           "aten::fmod"};
// Though PyTorch does not say so.
constexpr std::string_view kElementwise[] = {"aten::_to_copy", "aten::floor_divide"};
constexpr std::string_view kPlaces[] = {"aten::argmax", "aten::argmin"};

std::optional<int64_t> IntegerArgument(const AtenStep& step, const char* name) {
  const Value* value = FindArgument(step, name);
  const auto* integer = value == nullptr ? nullptr : std::get_if<int64_t>(&value->v);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

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
    asked.far_numbers = wide && computed && !measures_ && !leaves_integers_;
    asked.flags =
        computed && !measures_ && std::ranges::all_of(named_, [](int64_t n) { return n == 0 || n == 1; });
    asked.negative = asked.far_numbers && !divides_;
    if (wide && !computed_ && !unknown_) asked.choices = choices_;
    return asked;
  }

  bool Chooses() {
    Go();
    return choices_.has_value();
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
      if (step == nullptr || !WrittenArguments(*step).empty()) unknown_ = true;
      for (const TensorId id : used) {
        if (!unknown_) Take(*step, id);
      }
    }
  }

  StorageId StorageOf(TensorId id) const { return plan_.tensors[id].storage; }

  void Take(const AtenStep& step, TensorId id) {
    const bool same = same_.contains(StorageOf(id));
    const OpKind kind = KindOf(plan_, step);
    if (const auto choices = ChoicesIn(plan_, step, id)) {
      TakeChoices(step, same, *choices);
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
    if (!TraitsOf(step.op).known || IsPicky(step, id)) {
      unknown_ = true;
    } else if (IsComparison(step)) {
      if (same) NameScalar(step);
      measures_ |= ComparesAcross(step);
    } else if (OneOf(OutOfPlaceName(step), kBounds) && (same || IsBounded(step))) {
      if (same) NameBeyond(step);  // what comes out is within
      measures_ |= !IsBounded(step);
    } else if (IsMask(step)) {
      return;  // within, too
    } else if (TraitsOf(step.op).pointwise || OneOf(OutOfPlaceName(step), kElementwise)) {
      Reach(step, &derived_);
    } else if (IsInteger(plan_.tensors[id].dtype) && !OneOf(WithoutOverload(step.op), kPlaces)) {
      Reach(step, &derived_);
      unknown_ |= !OneOf(WithoutOverload(step.op), kSums);
    }
  }

  // Lengths and offsets are compared with the places of something else, for each of which they count.
  bool ComparesAcross(const AtenStep& step) const {
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
    choices_ = std::min(choices, choices_.value_or(choices));
    const auto ignored = IntegerArgument(step, "ignore_index");
    chooses_otherwise_ |= !ignored || (ignored_ && *ignored_ != *ignored);
    if (ignored && *ignored != kIgnoredByDefault) ignored_ = ignored;
  }

  static bool IsPicky(const AtenStep& step, TensorId id) {
    std::string_view name = OutOfPlaceName(step);
    name.remove_prefix(std::min(name.size(), std::string_view("aten::").size()));
    const auto* second = step.args.size() < 2 ? nullptr : std::get_if<TensorRef>(&step.args[1].v);
    return OneOf(name, kPicky) && second != nullptr && second->id == id;
  }

  void NameScalar(const AtenStep& step) {
    const auto* number = step.args.size() < 2 ? nullptr : std::get_if<int64_t>(&step.args[1].v);
    if (number != nullptr) named_.insert(*number);
  }

  void NameBeyond(const AtenStep& step) {
    constexpr int64_t kMost = int64_t{1} << 30;
    const auto least = IntegerArgument(step, "min"), most = IntegerArgument(step, "max");
    if (least && *least > -kMost) named_.insert(*least - 1);
    if (most && *most < kMost) named_.insert(*most + 1);
  }

  void Reach(const AtenStep& step, Storages* storages) {
    for (const TensorId id : step.outs) {
      if (id == kNoTensor || plan_.tensors[id].dtype == Dtype::kBool) continue;
      storages->insert(StorageOf(id));
      leaves_integers_ |= !IsInteger(plan_.tensors[id].dtype);
    }
  }

  const Plan& plan_;
  TensorId leaf_;
  Storages same_, derived_;  // the numbers themselves, and what elementwise calls make of them
  std::set<int64_t> named_;
  std::optional<int64_t> choices_, ignored_;
  bool chooses_otherwise_ = false;  // not by a loss that ignores one number
  bool computed_ = false;           // something else is done with them than to choose
  bool measures_ = false, leaves_integers_ = false, divides_ = false;
  bool unknown_ = false;
};

}  // namespace

bool IsInteger(Dtype dtype) {
  return !IsFloating(dtype) && dtype != Dtype::kBool;
}

bool IsComparison(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"aten::eq", "aten::ne", "aten::gt",
                                       "aten::ge", "aten::lt", "aten::le"};
  return OneOf(OutOfPlaceName(step), kOps);
}

std::optional<int64_t> ChoicesIn(const Plan& plan, const AtenStep& step, TensorId id) {
  struct Role {
    std::string_view op;
    const char *places, *of;
    std::optional<int64_t> dim;  // nothing: the argument `dim`
  };
  constexpr Role kRoles[] = {{"aten::embedding", "indices", "weight", 0},
                             {"aten::index_select", "index", "self", {}},
                             {"aten::gather", "index", "self", {}},
                             {"aten::nll_loss_forward", "target", "self", 1},
                             {"aten::nll_loss2d_forward", "target", "self", 1},
                             {"aten::cross_entropy_loss", "target", "self", 1}};
  for (const Role& role : kRoles) {
    if (WithoutOverload(step.op) != role.op || TensorArgument(step, role.places) != id) continue;
    const TensorId of = TensorArgument(step, role.of);
    const Value* given = role.dim ? nullptr : FindArgument(step, "dim");
    const auto* number = given == nullptr ? nullptr : std::get_if<int64_t>(&given->v);
    if (of == kNoTensor || of == id || (!role.dim && number == nullptr)) return std::nullopt;
    const auto& sizes = plan.tensors[of].sizes;
    const auto rank = static_cast<int64_t>(sizes.size());
    const int64_t dim = role.dim ? std::min(*role.dim, rank - 1) : *number + (*number < 0 ? rank : 0);
    return dim >= 0 && dim < rank && sizes[dim] > 0 ? std::optional(sizes[dim]) : std::nullopt;
  }
  if (step.op != "aten::index.Tensor") return std::nullopt;
  const Value* indices = FindArgument(step, "indices");
  const auto* list = indices == nullptr ? nullptr : std::get_if<Value::List>(&indices->v);
  const TensorId self = TensorArgument(step, "self");
  if (list == nullptr || self == kNoTensor || self == id) return std::nullopt;
  for (size_t d = 0; d < list->size(); ++d) {
    const auto* index = std::get_if<TensorRef>(&(*list)[d].v);
    if (index != nullptr && index->id == id) return plan.tensors[self].sizes.at(d);
  }
  return std::nullopt;
}

AskedIntegers AskedIntegersOf(const Plan& plan, TensorId leaf) {
  return Walk(plan, leaf).Run(plan.tensors[leaf].dtype);
}

bool ChoosesUnbounded(const Plan& plan, TensorId leaf) {
  return Walk(plan, leaf).Chooses();
}

}  // namespace tritogen
