#include "verify/work_ops.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "plan/visit.h"

namespace tritogen {
namespace {

OpTraits LookUp(const std::string& op) {
  const size_t dot = op.find('.');
  const c10::OperatorName name(op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1));
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  OpTraits traits;
  if (!handle) return traits;
  traits.known = true;
  traits.pointwise = handle->hasTag(at::Tag::pointwise);
  traits.random = handle->hasTag(at::Tag::nondeterministic_seeded);
  for (const c10::Argument& argument : handle->schema().arguments()) {
    const c10::AliasInfo* alias = argument.alias_info();
    traits.names.push_back(argument.name());
    traits.writes.push_back(alias != nullptr && alias->isWrite());
    traits.outs.push_back(traits.writes.back() && argument.kwarg_only());
  }
  for (const c10::Argument& result : handle->schema().returns()) {
    const c10::AliasInfo* alias = result.alias_info();
    traits.view |= alias != nullptr && !alias->isWrite();
  }
  // What reshape makes of a copy: a view all the same, which its schema keeps from autograd.
  traits.view |= op == "aten::_unsafe_view";
  return traits;
}

// Writes of these depend on nothing the written tensor held before.
constexpr std::string_view kConstantFills[] = {"aten::zero_", "aten::fill_"};
// Nor do these, which draw what they write.
constexpr std::string_view kRandomFills[] = {"aten::exponential_", "aten::normal_", "aten::uniform_",
                                             "aten::geometric_",   "aten::cauchy_", "aten::log_normal_",
                                             "aten::bernoulli_",   "aten::random_"};
constexpr std::string_view kCopies[] = {"aten::clone",        "aten::contiguous", "aten::copy_",
                                        "aten::_to_copy",     "aten::to",         "aten::copy",
                                        "aten::_reshape_copy"};
// Composite operators that give a view when they can and a copy of the same values otherwise.
constexpr std::string_view kReshapes[] = {"aten::reshape", "aten::flatten", "aten::reshape_as"};

bool ReadsOnlyShape(std::string_view base) {
  return base.ends_with("_like") || base.starts_with("aten::new_");
}

enum class Use { kRead, kWritten, kOut };  // out: written, whatever was there (`out=`)

// f(tensor id, use) for each tensor argument.
template <typename F>
void ForEachArgument(const AtenStep& step, const F& f) {
  const OpTraits& traits = TraitsOf(step.op);
  const bool statistics = WritesStatistics(step);
  auto use_of = [&](size_t i) {
    if (i >= traits.writes.size()) return Use::kRead;
    return traits.outs[i] ? Use::kOut : traits.writes[i] ? Use::kWritten : Use::kRead;
  };
  for (size_t i = 0; i < step.args.size(); ++i) {
    const Use use = statistics && (i == 3 || i == 4) ? Use::kWritten : use_of(i);
    ForEachTensor(step.args[i], [&](TensorId id) { f(id, use); });
  }
  for (const auto& [name, value] : step.kwargs) {
    const auto at = std::find(traits.names.begin(), traits.names.end(), name) - traits.names.begin();
    ForEachTensor(value, [&](TensorId id) { f(id, use_of(static_cast<size_t>(at))); });
  }
}

// Ones, or another number, that one step of a call makes and one alone uses.
bool IsConstantForOneUse(const Plan& plan, TensorId id) {
  constexpr std::string_view kConstants[] = {"aten::ones",      "aten::full",     "aten::ones_like",
                                             "aten::full_like", "aten::new_ones", "aten::new_full"};
  const StorageId storage = plan.tensors[id].storage;
  int makers = 0, uses = 0;
  for (const Step& other : plan.run) {
    const auto* aten = std::get_if<AtenStep>(&other);
    bool makes = false, mentions = false;
    ForEachResult(other, [&](TensorId t) { makes |= plan.tensors[t].storage == storage; });
    ForEachUse(other, [&](TensorId t) { mentions |= plan.tensors[t].storage == storage; });
    if (makes && (aten == nullptr || mentions || !OneOf(WithoutOverload(aten->op), kConstants))) return false;
    makers += makes;
    uses += mentions;
  }
  return makers == 1 && uses == 1;
}

// Which elements stay is PyTorch's draw. On a constant it is nothing else.
bool DrawsMask(const Plan& plan, const AtenStep& step) {
  constexpr std::string_view kDraws[] = {"aten::dropout", "aten::native_dropout"};
  if (!OneOf(WithoutOverload(step.op), kDraws)) return false;
  bool constant = true;
  ForEachArgument(step, [&](TensorId id, Use) { constant &= IsConstantForOneUse(plan, id); });
  return constant;
}

bool SameDtype(const Plan& plan, const AtenStep& step) {
  bool same = true;
  if (FirstResult(step) == kNoTensor) return false;
  const Dtype dtype = plan.tensors[step.outs[0]].dtype;
  ForEachArgument(step, [&](TensorId id, Use) { same &= plan.tensors[id].dtype == dtype; });
  return same;
}

bool IsNegative(const Value& value) {
  const auto* number = std::get_if<double>(&value.v);
  const auto* integer = std::get_if<int64_t>(&value.v);
  return (number != nullptr && *number < 0) || (integer != nullptr && *integer < 0);
}

}  // namespace

const OpTraits& TraitsOf(const std::string& op) {
  static std::mutex mutex;
  static std::unordered_map<std::string, OpTraits> cache;  // nodes stay where they are
  const std::lock_guard lock(mutex);
  const auto found = cache.find(op);
  if (found != cache.end()) return found->second;
  static const OpTraits kUnknown;
  OpTraits traits = LookUp(op);
  if (!traits.known) return kUnknown;  // hostile names must not fill the cache
  return cache.emplace(op, std::move(traits)).first->second;
}

OpKind KindOf(const Plan& plan, const AtenStep& step) {
  const OpTraits& traits = TraitsOf(step.op);
  const std::string_view base = WithoutOverload(step.op);
  if (!traits.known) return OpKind::kCompute;
  if (OneOf(base, kCopies)) return SameDtype(plan, step) ? OpKind::kLayout : OpKind::kCompute;
  if (OneOf(base, kReshapes)) return OpKind::kLayout;
  if (OneOf(base, kConstantFills)) return OpKind::kFactory;
  int tensors = 0;
  ForEachArgument(step, [&](TensorId, Use) { ++tensors; });
  if (tensors == 0 || DrawsMask(plan, step)) return OpKind::kFactory;
  if (tensors == 1 && OneOf(base, kRandomFills)) return OpKind::kFactory;
  if (ReadsOnlyShape(base)) return OpKind::kFactory;
  const bool writes = std::find(traits.writes.begin(), traits.writes.end(), true) != traits.writes.end();
  if (traits.view && !writes) return OpKind::kView;
  return OpKind::kCompute;
}

const Value* FindArgument(const AtenStep& step, const std::string& name) {
  for (const auto& [key, value] : step.kwargs) {
    if (key == name) return &value;
  }
  const auto& names = TraitsOf(step.op).names;
  const auto at = static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  return at < step.args.size() ? &step.args[at] : nullptr;
}

TensorId TensorArgument(const AtenStep& step, const std::string& name) {
  const Value* value = FindArgument(step, name);
  const auto* tensor = value == nullptr ? nullptr : std::get_if<TensorRef>(&value->v);
  return tensor == nullptr ? kNoTensor : tensor->id;
}

bool OrdersFreely(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"aten::topk",     "aten::sort",       "aten::argsort",
                                       "aten::kthvalue", "aten::median.dim", "aten::nanmedian.dim",
                                       "aten::mode"};
  return OneOf(step.op, kOps);
}

bool FactorsMatrix(const AtenStep& step) {
  constexpr std::string_view kNorms[] = {"aten::linalg_vector_norm", "aten::linalg_norm",
                                         "aten::linalg_cross"};
  constexpr std::string_view kOthers[] = {"aten::geqrf",
                                          "aten::ormqr",
                                          "aten::orgqr",
                                          "aten::cholesky",
                                          "aten::inverse",
                                          "aten::cholesky_solve",
                                          "aten::cholesky_inverse",
                                          "aten::lu_solve",
                                          "aten::triangular_solve"};
  const std::string name(WithoutOverload(step.op));
  const bool linalg = name.starts_with("aten::linalg_") || name.starts_with("aten::_linalg_");
  return (linalg && !OneOf(name, kNorms)) || OneOf(name, kOthers);
}

bool IsCastToHalf(const Plan& plan, const AtenStep& step) {
  if (WithoutOverload(step.op) != "aten::_to_copy") return false;
  const auto* from = std::get_if<TensorRef>(&step.args.at(0).v);
  if (from == nullptr || FirstResult(step) == kNoTensor) return false;
  const Dtype before = plan.tensors[from->id].dtype, after = plan.tensors[step.outs[0]].dtype;
  return (before == Dtype::kFloat32 || before == Dtype::kFloat64) &&
         (after == Dtype::kFloat16 || after == Dtype::kBFloat16);
}

std::optional<TensorId> SearchedIn(const AtenStep& step) {
  const std::string_view op = WithoutOverload(step.op);
  const bool search = op == "aten::searchsorted";
  if (!search && op != "aten::bucketize") return std::nullopt;
  if (search && TensorArgument(step, "sorter") != kNoTensor) return std::nullopt;
  const TensorId lines = TensorArgument(step, search ? "sorted_sequence" : "boundaries");
  return lines == kNoTensor ? std::nullopt : std::optional(lines);
}

std::vector<TensorId> ProbabilitiesOf(const AtenStep& step) {
  if (step.op != "aten::binary_cross_entropy") return {};
  std::vector<TensorId> ids;
  for (const char* name : {"self", "target"}) {
    if (const TensorId id = TensorArgument(step, name); id != kNoTensor) ids.push_back(id);
  }
  return ids;
}

bool IsVariance(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"aten::var", "aten::std", "aten::var_mean", "aten::std_mean"};
  return OneOf(WithoutOverload(step.op), kOps);
}

bool LetsFewCount(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"exp",    "exp_",   "exp2", "logsumexp", "cross_entropy_loss",
                                       "argmax", "argmin", "max",  "min"};
  std::string_view base = WithoutOverload(step.op);
  base.remove_prefix(std::string_view("aten::").size());
  return base.find("softmax") != base.npos || base.find("softmin") != base.npos ||
         base.find("attention") != base.npos || OrdersFreely(step) || OneOf(base, kOps);
}

bool CarriesBySigns(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"aten::gru", "aten::lstm", "aten::rnn_tanh"};
  return OneOf(WithoutOverload(step.op), kOps);
}

bool IsExtremum(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"aten::amax",   "aten::amin",   "aten::aminmax", "aten::max",
                                       "aten::min",    "aten::argmax", "aten::argmin",  "aten::cummax",
                                       "aten::cummin", "aten::topk",   "aten::sort",    "aten::kthvalue",
                                       "aten::median"};
  constexpr std::string_view kFamilies[] = {"softmax",       "::logsumexp", "::logcumsumexp",
                                            "cross_entropy", "::max_pool",  "::adaptive_max_pool"};
  constexpr std::string_view kOfGroups[] = {"aten::scatter_reduce", "aten::scatter_reduce_",
                                            "aten::index_reduce", "aten::index_reduce_"};
  const std::string_view base = WithoutOverload(step.op);
  if (OneOf(base, kOfGroups)) {
    const Value* reduce = FindArgument(step, "reduce");
    return reduce != nullptr &&
           (reduce->v == Value{std::string("amax")}.v || reduce->v == Value{std::string("amin")}.v);
  }
  const auto names = [&](std::string_view family) { return base.find(family) != base.npos; };
  return OneOf(base, kOps) || std::ranges::any_of(kFamilies, names);
}

bool AsksOfAll(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"aten::all", "aten::any"};
  return OneOf(WithoutOverload(step.op), kOps);
}

bool IsNorm(const AtenStep& step) {
  constexpr std::string_view kNorms[] = {
      "aten::layer_norm", "aten::native_layer_norm", "aten::group_norm",   "aten::native_group_norm",
      "aten::batch_norm", "aten::native_batch_norm", "aten::instance_norm"};
  return OneOf(WithoutOverload(step.op), kNorms);
}

bool HasEpsilon(const AtenStep& step) {
  constexpr double kLargest = 1e-3;
  constexpr std::string_view kByDefault[] = {"rms_norm", "cosine_similarity", "pairwise_distance"};
  const auto is_epsilon = [](const Value& value) {
    const auto* number = std::get_if<double>(&value.v);
    return number != nullptr && *number > 0 && *number <= kLargest;
  };
  const std::string_view base = WithoutOverload(step.op);
  return IsNorm(step) ||
         std::ranges::any_of(kByDefault, [&](std::string_view name) { return base.ends_with(name); }) ||
         std::ranges::any_of(step.args, is_epsilon) ||
         std::ranges::any_of(step.kwargs, [&](const auto& named) { return is_epsilon(named.second); });
}

bool DividesByComputed(const Plan& plan) {
  constexpr std::string_view kDivisions[] = {"aten::div", "aten::div_"},
                             kOfOne[] = {"aten::reciprocal", "aten::rsqrt", "aten::log", "aten::log2",
                                         "aten::log10"};
  constexpr std::string_view kPowers = "aten::pow.Tensor_Scalar";
  std::set<TensorId> inputs, computed;
  for (const TensorId id : TensorLeaves(plan.inputs))
    if (IsFloating(plan.tensors[id].dtype)) inputs.insert(id);
  for (const Step& step : plan.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    if (aten == nullptr) continue;
    const std::string_view base = WithoutOverload(aten->op);
    const auto is_computed = [&](size_t argument) {
      const auto* ref =
          aten->args.size() > argument ? std::get_if<TensorRef>(&aten->args[argument].v) : nullptr;
      return ref != nullptr && computed.contains(ref->id);
    };
    const bool divides = aten->op == kPowers && aten->args.size() > 1 && IsNegative(aten->args[1]);
    if ((OneOf(base, kDivisions) && is_computed(1)) || ((divides || OneOf(base, kOfOne)) && is_computed(0)))
      return true;
    bool carries = false;
    ForEachTensor(aten->args, [&](TensorId id) { carries |= inputs.contains(id) || computed.contains(id); });
    for (const TensorId out : aten->outs)
      if (carries && out != kNoTensor && IsFloating(plan.tensors[out].dtype)) computed.insert(out);
  }
  return false;
}

bool TakesExtrema(const Plan& plan) {
  bool takes = false;
  for (const Step& step : plan.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    if (aten == nullptr) continue;
    if (IsVariance(*aten) || WithoutOverload(aten->op).find("norm") != std::string_view::npos) return false;
    takes |= IsExtremum(*aten) || AsksOfAll(*aten);
  }
  return takes;
}

bool DrawsRandom(const AtenStep& step) {
  const OpTraits& traits = TraitsOf(step.op);
  if (!traits.random) return false;
  for (const char* name : {"train", "training"}) {
    const Value* flag = FindArgument(step, name);
    if (flag != nullptr && flag->v == Value{false}.v) return false;
  }
  if (WithoutOverload(step.op).starts_with("aten::bernoulli")) return true;  // its p is a probability of ones
  for (const char* name : {"dropout_p", "dropout", "p"}) {
    if (std::find(traits.names.begin(), traits.names.end(), name) == traits.names.end()) continue;
    const Value* chance = FindArgument(step, name);  // zero where it has a default
    return chance != nullptr && chance->v != Value{0.0}.v && chance->v != Value{int64_t{0}}.v;
  }
  return true;
}

std::vector<TensorId> WrittenArguments(const AtenStep& step) {
  std::vector<TensorId> ids;
  ForEachArgument(step, [&](TensorId id, Use use) {
    if (use != Use::kRead) ids.push_back(id);
  });
  return ids;
}

std::set<StorageId> WrittenStorages(const Plan& plan) {
  std::set<StorageId> written;
  for (const Step& step : plan.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    if (aten == nullptr) continue;
    for (TensorId id : WrittenArguments(*aten)) written.insert(plan.tensors[id].storage);
  }
  return written;
}

std::vector<TensorId> ReadArguments(const AtenStep& step) {
  const std::string_view base = WithoutOverload(step.op);
  std::vector<TensorId> ids;
  if (ReadsOnlyShape(base)) return ids;
  const bool overwrites = base == "aten::copy_" || OneOf(base, kConstantFills) || OneOf(base, kRandomFills);
  ForEachArgument(step, [&](TensorId id, Use use) {
    if (use == Use::kRead || (use == Use::kWritten && !overwrites)) ids.push_back(id);
  });
  return ids;
}

}  // namespace tritogen
