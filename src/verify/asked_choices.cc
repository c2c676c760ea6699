#include "verify/asked_choices.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "plan/visit.h"
#include "verify/local_flow.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

constexpr std::string_view kSums[] = {"aten::sum",  "aten::mean", "aten::prod",    "aten::cumsum",
                                      "aten::mm",   "aten::bmm",  "aten::matmul",  "aten::linear",
                                      "aten::dot",  "aten::mv",   "aten::_int_mm", "aten::amax",
                                      "aten::amin", "aten::max",  "aten::min"};
// Though PyTorch does not say so.
constexpr std::string_view kElementwise[] = {"aten::_to_copy", "aten::floor_divide"};
constexpr std::string_view kWriters[] = {"aten::scatter",   "aten::scatter_add",      "aten::scatter_reduce",
                                         "aten::index_add", "aten::index_copy",       "aten::index_fill",
                                         "aten::index_put", "aten::_unsafe_index_put"};

constexpr std::string_view kListed[] = {"aten::index", "aten::_unsafe_index", "aten::index_put",
                                        "aten::_unsafe_index_put"};

struct Choosing {
  std::string_view op;
  const char *places, *of;
  std::optional<int64_t> dim;  // nothing: the argument `dim`
};
constexpr Choosing kRoles[] = {{"aten::embedding", "indices", "weight", 0},
                               {"aten::_embedding_bag", "indices", "weight", 0},
                               {"aten::_embedding_bag_forward_only", "indices", "weight", 0},
                               {"aten::index_select", "index", "self", {}},
                               {"aten::gather", "index", "self", {}},
                               {"aten::scatter", "index", "self", {}},
                               {"aten::scatter_add", "index", "self", {}},
                               {"aten::scatter_reduce", "index", "self", {}},
                               {"aten::index_add", "index", "self", {}},
                               {"aten::index_copy", "index", "self", {}},
                               {"aten::index_fill", "index", "self", {}},
                               {"aten::nll_loss_forward", "target", "self", 1},
                               {"aten::nll_loss2d_forward", "target", "self", 1},
                               {"aten::cross_entropy_loss", "target", "self", 1}};

std::optional<int64_t> ChoicesOf(const Plan& plan, const AtenStep& step, const Choosing& role, TensorId id) {
  const TensorId of = TensorArgument(step, role.of);
  const auto given = role.dim ? std::nullopt : IntegerArgument(step, "dim");
  if (of == kNoTensor || of == id || (!role.dim && !given)) return std::nullopt;
  const auto& sizes = plan.tensors[of].sizes;
  const auto rank = static_cast<int64_t>(sizes.size());
  const int64_t dim = role.dim ? std::min(*role.dim, rank - 1) : *given + (*given < 0 ? rank : 0);
  return dim >= 0 && dim < rank && sizes[dim] > 0 ? std::optional(sizes[dim]) : std::nullopt;
}

// The call that made the memory that it lies in, be it for another view of it.
const AtenStep* RootOf(const Plan& plan, TensorId id) {
  for (const Step& each : plan.run) {
    const auto* step = std::get_if<AtenStep>(&each);
    if (step == nullptr) continue;
    for (const TensorId out : step->outs) {
      if (out != kNoTensor && plan.tensors[out].storage == plan.tensors[id].storage) return step;
    }
  }
  return nullptr;
}

// 0, 1, …, n − 1
bool IsCount(const AtenStep& step) {
  if (WithoutOverload(step.op) != "aten::arange") return false;
  const auto is = [&](const char* name, int64_t number) {
    return IntegerArgument(step, name).value_or(number) == number;
  };
  return is("start", 0) && is("step", 1);
}

// How many places there are among which a call names some in `id`: where the largest is, what comes first.
std::optional<int64_t> PlacesNamed(const Plan& plan, const AtenStep& step, TensorId id) {
  constexpr std::string_view kAlone[] = {"aten::argmax", "aten::argmin", "aten::argsort"};
  constexpr std::string_view kBehindValues[] = {"aten::topk", "aten::sort", "aten::max", "aten::min"};
  const bool alone = OneOf(WithoutOverload(step.op), kAlone);
  const bool second = OneOf(WithoutOverload(step.op), kBehindValues) && step.outs.size() == 2 &&
                      plan.tensors[step.outs[1]].storage == plan.tensors[id].storage;
  const auto* of = step.args.empty() ? nullptr : std::get_if<TensorRef>(&step.args[0].v);
  if (of == nullptr || !(alone || second)) return std::nullopt;
  const TensorMeta& meta = plan.tensors[of->id];
  const auto rank = static_cast<int64_t>(meta.sizes.size());
  const bool whole = alone && WithoutOverload(step.op) != "aten::argsort" && !IntegerArgument(step, "dim");
  if (whole || rank == 0) return meta.numel();
  const int64_t dim = IntegerArgument(step, "dim").value_or(-1);
  return dim >= -rank && dim < rank ? std::optional(meta.sizes[dim < 0 ? dim + rank : dim]) : std::nullopt;
}

// Of two arguments one, an integer, that stands beside 0, 1, …, n − 1, or beside places among so many.
struct Beside {
  bool first;     // of the two
  int64_t count;  // n
};

std::optional<Beside> CountBeside(const Plan& plan, const AtenStep& step, TensorId id) {
  if (step.args.size() != 2 || !IsInteger(plan.tensors[id].dtype)) return std::nullopt;
  for (const size_t side : {0, 1}) {
    const auto* one = std::get_if<TensorRef>(&step.args[side].v);
    const auto* other = std::get_if<TensorRef>(&step.args[1 - side].v);
    if (one == nullptr || other == nullptr || one->id != id || other->id == id) continue;
    const AtenStep* maker = RootOf(plan, other->id);
    if (maker != nullptr && IsCount(*maker))
      return Beside{side == 0, plan.tensors[maker->outs.front()].numel()};
    if (const auto count = maker == nullptr ? std::nullopt : PlacesNamed(plan, *maker, other->id))
      return Beside{side == 0, *count};
  }
  return std::nullopt;
}

}  // namespace

bool IsInteger(Dtype dtype) {
  return !IsFloating(dtype) && dtype != Dtype::kBool;
}

std::optional<int64_t> IntegerArgument(const AtenStep& step, const char* name) {
  const Value* value = FindArgument(step, name);
  const auto* integer = value == nullptr ? nullptr : std::get_if<int64_t>(&value->v);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

bool IsComparison(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"aten::eq", "aten::ne", "aten::gt",
                                       "aten::ge", "aten::lt", "aten::le"};
  return OneOf(OutOfPlaceName(step), kOps);
}

bool IsClamp(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"aten::clamp", "aten::clamp_min", "aten::clamp_max", "aten::clip"};
  return OneOf(OutOfPlaceName(step), kOps);
}

bool IsElementwise(const AtenStep& step) {
  return TraitsOf(step.op).pointwise || OneOf(OutOfPlaceName(step), kElementwise);
}

bool IsPickyAbout(const AtenStep& step, TensorId id) {
  constexpr std::string_view kPicky[] = {
      "aten::div",          "aten::remainder",          "aten::fmod",
      "aten::floor_divide", "aten::bitwise_left_shift", "aten::bitwise_right_shift",
      "aten::__lshift__",   "aten::__rshift__",         "aten::pow",
      "aten::ldexp"};
  const auto* second = step.args.size() < 2 ? nullptr : std::get_if<TensorRef>(&step.args[1].v);
  return OneOf(OutOfPlaceName(step), kPicky) && second != nullptr && second->id == id;
}

bool IsSumOfIntegers(const AtenStep& step) {
  return OneOf(WithoutOverload(step.op), kSums);
}

std::optional<int64_t> ChoicesIn(const Plan& plan, const AtenStep& step, TensorId id) {
  const std::string_view name = OutOfPlaceName(step);
  for (const Choosing& role : kRoles) {
    if (name == role.op && TensorArgument(step, role.places) == id) return ChoicesOf(plan, step, role, id);
  }
  if (!OneOf(name, kListed) || plan.tensors[id].dtype == Dtype::kBool) return std::nullopt;
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

bool WritesByPlaces(const AtenStep& step) {
  return OneOf(OutOfPlaceName(step), kWriters);
}

bool LastWriteStays(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"aten::index_put", "aten::index_copy", "aten::put"};
  const std::string_view name = OutOfPlaceName(step);
  if (step.op == "aten::scatter.src" || step.op == "aten::scatter_.src") return true;
  const Value* accumulate = FindArgument(step, "accumulate");
  return OneOf(name, kOps) && (accumulate == nullptr || accumulate->v != Value{true}.v);
}

std::optional<int64_t> MatchesIn(const Plan& plan, const AtenStep& step, TensorId id) {
  const auto& sizes = plan.tensors[id].sizes;
  if (OutOfPlaceName(step) != "aten::eq" || sizes.empty() || sizes.back() != 1) return std::nullopt;
  const auto beside = CountBeside(plan, step, id);
  return beside ? std::optional(beside->count) : std::nullopt;
}

bool IsLength(const Plan& plan, const AtenStep& step, TensorId id) {
  constexpr std::string_view kFirst[] = {"aten::gt", "aten::le"}, kSecond[] = {"aten::lt", "aten::ge"};
  const auto beside = CountBeside(plan, step, id);
  if (!beside) return false;
  return beside->first ? OneOf(OutOfPlaceName(step), kFirst) : OneOf(OutOfPlaceName(step), kSecond);
}

std::optional<int64_t> PaddingOfBags(const AtenStep& step) {
  if (!OutOfPlaceName(step).starts_with("aten::_embedding_bag")) return std::nullopt;
  const auto padding = IntegerArgument(step, "padding_idx");
  return padding && *padding >= 0 ? padding : std::nullopt;
}

}  // namespace tritogen
