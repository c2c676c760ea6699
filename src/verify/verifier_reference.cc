#include "verify/verifier_reference.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>

#include "device/random.h"
#include "verify/inner_noise.h"
#include "verify/partial_range.h"
#include "verify/verifier_calls.h"

namespace tritogen {
namespace {

// On a GPU one must do: there, outputs are large enough for one to see all that two would.
constexpr int kWobbles = 2, kWobblesOnGpu = 1;

// Cut factors are allowed a multiple of 4 where other noise is allowed Expectation::kMultiple: it is the same
// noise in every program that computes in TF32, and 3 to 4 times of it are what bfloat16 brings about.
constexpr double kShareOfCut = 4 / Expectation::kMultiple;

ReplayOptions InFloat64(ReplayOptions options) {
  options.in_float64 = true;
  return options;
}

// In fp64, with what is cast to half precision moved as inputs and weights of half precision are.
ReplayOptions WithCastsMoved(ReplayOptions options, const Task::Impl& task, size_t number, double times = 1) {
  options.in_float64 = true;
  options.moves_casts = times;
  options.cast_seed = SubSeed(task.weight_seed, number);
  return options;
}

ReplayOptions Probing(ReplayOptions options, std::vector<Probe>* probes) {
  options.probes = probes;
  return options;
}

ReplayOptions WithFactorsCut(ReplayOptions options, const Task::Impl& task, uint64_t seed) {
  options.in_float64 = true;
  options.factors = task.options.fp32_precision;
  options.tf32_seed = seed;
  return options;
}

template <typename F>
Bindings MapBindings(const std::map<std::string, at::Tensor>& state, const F& change) {
  Bindings bindings;
  for (const auto& [name, tensor] : state) bindings[name] = change({tensor})[0];
  return bindings;
}

// Moved by half a unit in the last place (Wobble), or `times` as far.
TensorList Moved(const TensorList& tensors, uint64_t seed, double times = 1) {
  TensorList moved = Wobble(tensors, seed);
  for (size_t i = 0; i < tensors.size() && times != 1; ++i) {
    if (!at::isFloatingType(tensors[i].scalar_type())) continue;
    const at::Tensor whole = tensors[i].to(at::kDouble);
    moved[i] = whole + (moved[i] - whole) * times;
  }
  return moved;
}

Bindings MovedWeights(const Task::Impl& task, const std::map<std::string, at::Tensor>& state, size_t number,
                      double times = 1) {
  uint64_t stream = SubSeed(task.weight_seed, number);
  Bindings moved =
      MapBindings(state, [&](const TensorList& tensors) { return Moved(tensors, ++stream, times); });
  for (const std::string& name : task.compared_state) {
    if (const auto found = state.find(name); found != state.end()) moved[name] = ToDouble({found->second})[0];
  }
  return moved;
}

// Where nothing is given nothing is exact.
bool AreExact(const std::vector<bool>& exact) {
  return !exact.empty() && std::ranges::all_of(exact, std::identity());
}

// A reference may write to its inputs; only then are they copied.
TensorList Given(const Task::Impl& task, const TensorList& inputs) {
  TensorList given = inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    if (task.mutates_input[i % task.mutates_input.size()]) given[i] = given[i].clone();
  }
  return given;
}

TensorList MovedInputs(const Task::Impl& task, const TensorList& inputs, uint64_t seed,
                       const std::vector<bool>& exact, size_t number, double times = 1) {
  if (AreExact(exact)) return ToDouble(inputs);
  TensorList moved = Given(task, Moved(inputs, SubSeed(seed, number), times));
  for (size_t i = 0; i < moved.size(); ++i) {
    if (exact[i]) moved[i] = ToDouble({inputs[i]})[0];
  }
  return moved;
}

// So many elements of tensors of one shape at a time, flat: of large ones nothing as large fits beside them.
void ForPieces(const TensorList& tensors, const std::function<void(const TensorList&)>& change) {
  constexpr int64_t kAtOnce = int64_t{1} << 24;
  const int64_t count = tensors[0].numel();
  TensorList flat;
  for (const at::Tensor& tensor : tensors) flat.push_back(tensor.contiguous().view(-1));
  for (int64_t begin = 0; begin < count; begin += kAtOnce) {
    TensorList piece;
    for (const at::Tensor& tensor : flat)
      piece.push_back(tensor.narrow(0, begin, std::min(kAtOnce, count - begin)));
    change(piece);
  }
}

}  // namespace

TensorList ToDouble(const TensorList& tensors) {
  TensorList wide;
  for (const at::Tensor& t : tensors)
    wide.push_back(at::isFloatingType(t.scalar_type()) ? t.to(at::kDouble, false, true) : t.clone());
  return wide;
}

at::Tensor AllowedCut(const at::Tensor& exact, const at::Tensor& cut, const at::Tensor& wobble) {
  if (!at::isFloatingType(cut.scalar_type())) return cut;
  const at::Tensor wide = exact.to(at::kDouble);
  at::Tensor allowed = at::empty(cut.sizes(), wide.options()).copy_(cut).sub_(wide).mul_(kShareOfCut);
  if (!wobble.defined()) return allowed.add_(wide);
  ForPieces({allowed, wide, wobble}, [](const TensorList& piece) {
    const at::Tensor further = (piece[2] - piece[1]).abs() > piece[0].abs();
    piece[0].copy_(at::where(further, piece[2], piece[0] + piece[1]));
  });
  return allowed;
}

at::Tensor LeastOfCut(const at::Tensor& exact, const at::Tensor& wobble) {
  constexpr double kTimes = 2;  // of a wobble, which is a quarter of it and of which 16 times are allowed
  at::Tensor total = at::zeros({}, exact.options().dtype(at::kDouble)), count = total.to(at::kLong);
  ForPieces({exact, wobble}, [&](const TensorList& piece) {
    const at::Tensor change = (piece[1] - piece[0]).nan_to_num(0, 0, 0);
    total += change.square().sum();
    count += change.count_nonzero();
  });
  return (total / count.clamp_min(1)).sqrt() * kTimes;
}

Plan WithIndexedOutputs(const Plan& plan, const std::vector<std::optional<IndexSource>>& sources) {
  Plan extended = plan;
  for (const auto& source : sources) {
    if (source) extended.outputs.push_back(Value{TensorRef{source->values}});
  }
  return extended;
}

ReferenceRuns::ReferenceRuns(const Task::Impl& task, const Deadline& deadline, size_t calls)
    : task_(task),
      plan_(CallsInARow(WithIndexedOutputs(task.plan, task.index_sources), calls)),
      options_(ReferenceOptionsFor(task.options, deadline)),
      range_probes_(task.spares_memory ? std::vector<Probe>() : RangeProbes(plan_)),
      eager_(plan_, options_),
      exact_(plan_, Probing(InFloat64(options_), &range_probes_)) {
  const int wobbles = options_.on_gpu ? kWobblesOnGpu : kWobbles;
  for (int i = 0; i < wobbles && !task.spares_memory; ++i) {
    wobbles_.push_back(std::make_unique<Replayer>(plan_, WithCastsMoved(options_, task, i)));
  }
  if (task.cuts_factors) cut_ = std::make_unique<Replayer>(plan_, WithFactorsCut(options_, task, 0));
}

TensorList ReferenceRuns::Narrow(const TensorList& tensors) const {
  return task_.cuts_factors ? RoundToBfloat16(tensors) : RoundToTf32(tensors);
}

std::optional<ReplayFailure> ReferenceRuns::SetUp(const Bindings& bindings) {
  auto setup = [&](Replayer& replayer, const Bindings& state) {
    return tritogen::SetUp(task_, plan_, state, &replayer);
  };
  if (auto failure = setup(eager_, bindings)) return failure;
  // The other precisions get exactly the weights that the eager program has.
  const auto state = eager_.State();
  narrow_state_ = MapBindings(state, [this](const TensorList& tensors) { return Narrow(tensors); });
  narrow_.reset();
  ordered_.clear();
  if (auto failure = setup(exact_, MapBindings(state, ToDouble))) return failure;
  for (size_t i = 0; i < wobbles_.size(); ++i) {
    if (auto failure = setup(*wobbles_[i], MovedWeights(task_, state, i))) return failure;
  }
  if (cut_) {
    if (auto failure = setup(*cut_, MapBindings(state, ToDouble))) return failure;
  }
  return std::nullopt;
}

std::optional<ReplayFailure> ReferenceRuns::RunOrdered(int order, const TensorList& inputs, uint64_t seed,
                                                       TensorList* outputs) {
  std::unique_ptr<Replayer>& replayer = ordered_[order];
  if (!replayer) {
    ReplayOptions options = InFloat64(options_);
    options.order_of_equals = order;
    replayer = std::make_unique<Replayer>(plan_, options);
    const Bindings state = MapBindings(eager_.State(), ToDouble);
    if (auto failure = tritogen::SetUp(task_, plan_, state, replayer.get())) return failure;
  }
  return replayer->Run(ToDouble(inputs), seed, outputs);
}

std::optional<ReplayFailure> ReferenceRuns::RunEager(const TensorList& inputs, uint64_t seed,
                                                     TensorList* outputs) {
  return eager_.Run(Given(task_, inputs), seed, outputs);
}

std::optional<ReplayFailure> ReferenceRuns::RunExact(const TensorList& inputs, uint64_t seed,
                                                     TensorList* outputs) {
  return exact_.Run(ToDouble(inputs), seed, outputs);
}

bool ReferenceRuns::LeftRange() {
  TensorList left;
  for (Probe& probe : range_probes_) {
    if (auto leaves = OrderLeavesRange(plan_, probe)) left.push_back(std::move(*leaves));
    probe.seen.reset();
  }
  return !left.empty() && at::stack(left).any().item<bool>();
}

std::optional<ReplayFailure> ReferenceRuns::Run(const TensorList& inputs, uint64_t seed,
                                                const std::vector<bool>& exact, bool with_narrow,
                                                Results* results) {
  if (auto failure = RunEager(inputs, seed, &results->eager)) return failure;
  if (auto failure = RunExact(inputs, seed, &results->exact)) return failure;
  if (with_narrow && !task_.spares_memory) {
    if (!narrow_) {
      narrow_ = std::make_unique<Replayer>(plan_, InFloat64(options_));
      if (auto failure = tritogen::SetUp(task_, plan_, narrow_state_, narrow_.get())) return failure;
    }
    if (auto failure = narrow_->Run(ToDouble(Narrow(inputs)), seed, &results->narrow)) return failure;
  }
  for (size_t i = 0; i < wobbles_.size(); ++i) {
    results->wobbles.emplace_back();
    const TensorList moved = MovedInputs(task_, inputs, seed, exact, i);
    if (auto failure = wobbles_[i]->Run(moved, seed, &results->wobbles.back())) return failure;
  }
  return cut_ ? RunCut(inputs, seed, results) : std::nullopt;
}

std::optional<ReplayFailure> ReferenceRuns::RunCut(const TensorList& inputs, uint64_t seed,
                                                   Results* results) {
  TensorList outputs;
  if (auto failure = cut_->Run(ToDouble(inputs), seed, &outputs)) return failure;
  if (results->wobbles.empty()) results->wobbles.emplace_back(outputs.size());
  TensorList& wobble = results->wobbles.front();
  for (size_t i = 0; i < outputs.size(); ++i)
    wobble[i] = AllowedCut(results->exact[i], outputs[i], wobble[i]);
  return std::nullopt;
}

MovedRuns::MovedRuns(const Task::Impl& task, const Deadline& deadline, MovedOptions options)
    : task_(task),
      deadline_(deadline),
      options_(options),
      inner_(options.inside ? InnerProbes(task.plan, options.sums) : std::vector<Probe>()),
      eager_(task.plan, Probing(ReferenceOptionsFor(task.options, deadline), &inner_)) {}

std::optional<ReplayFailure> MovedRuns::SetUp(const Bindings& bindings) {
  return tritogen::SetUp(task_, task_.plan, bindings, &eager_);
}

std::optional<ReplayFailure> MovedRuns::MoveInner(const TensorList& inputs, uint64_t seed, uint64_t stream,
                                                  const std::vector<bool>& exact) {
  if (inner_.empty()) return std::nullopt;
  const bool seen = std::ranges::any_of(inner_, [](const Probe& probe) { return probe.seen.defined(); });
  if (!seen) {
    TensorList unused;
    if (auto failure = eager_.Run(Given(task_, inputs), seed, &unused)) return failure;
  }
  // What the eager program shows is in float32: of exact inputs the second run is the first that moves any.
  MoveInside(SubSeed(seed, stream), AreExact(exact), &inner_);
  return std::nullopt;
}

std::optional<ReplayFailure> MovedRuns::Run(int number, const TensorList& inputs, uint64_t seed,
                                            const std::vector<bool>& exact, TensorList* outputs) {
  const size_t stream = kWobbles + static_cast<size_t>(number);
  if (options_.errors) return RunErrors(Rounded(stream, inputs, seed, exact), seed, outputs);
  ReplayOptions options = ReferenceOptionsFor(task_.options, deadline_);
  if (auto failure = MoveInner(inputs, seed, stream, exact)) return failure;
  options.probes = options_.inside ? &inner_ : options_.probes;
  options = WithCastsMoved(options, task_, stream, options_.times);
  if (task_.cuts_factors) options = WithFactorsCut(options, task_, SubSeed(seed, stream));
  Replayer replayer(task_.plan, options);
  auto failure = tritogen::SetUp(task_, task_.plan,
                                 MovedWeights(task_, eager_.State(), stream, options_.times), &replayer);
  if (failure) return failure;
  return replayer.Run(MovedInputs(task_, inputs, seed, exact, stream, options_.times), seed, outputs);
}

MovedRuns::Nearby MovedRuns::Rounded(size_t stream, const TensorList& inputs, uint64_t seed,
                                     const std::vector<bool>& exact) const {
  const auto state = eager_.State();
  Nearby given{MovedInputs(task_, inputs, seed, exact, stream, options_.times),
               MovedWeights(task_, state, stream, options_.times)};
  for (auto& [name, tensor] : given.weights) tensor = tensor.to(state.at(name).scalar_type());
  for (size_t i = 0; i < inputs.size(); ++i) given.inputs[i] = given.inputs[i].to(inputs[i].scalar_type());
  KeepInOrder(task_.searched, inputs, &given.inputs);
  KeepProbabilities(task_.probabilities, &given.inputs);
  return given;
}

std::optional<ReplayFailure> MovedRuns::RunOn(const Nearby& given, uint64_t seed, bool in_float64,
                                              TensorList* outputs) const {
  ReplayOptions options = ReferenceOptionsFor(task_.options, deadline_);
  options.in_float64 = in_float64;
  Replayer replayer(task_.plan, options);
  const auto as_run = [&](const at::Tensor& tensor) {
    return in_float64 ? ToDouble({tensor})[0] : tensor.clone();
  };
  TensorList inputs;
  Bindings weights;
  for (const at::Tensor& input : given.inputs) inputs.push_back(as_run(input));
  for (const auto& [name, tensor] : given.weights) weights[name] = as_run(tensor);
  if (auto failure = tritogen::SetUp(task_, task_.plan, weights, &replayer)) return failure;
  return replayer.Run(inputs, seed, outputs);
}

std::optional<ReplayFailure> MovedRuns::RunErrors(const Nearby& given, uint64_t seed,
                                                  TensorList* errors) const {
  TensorList exact;
  if (auto failure = RunOn(given, seed, /*in_float64=*/false, errors)) return failure;
  if (auto failure = RunOn(given, seed, /*in_float64=*/true, &exact)) return failure;
  for (size_t i = 0; i < exact.size(); ++i) {
    const at::Tensor eager = (*errors)[i].to(at::kDouble), right = exact[i].to(at::kDouble);
    const at::Tensor same = eager.eq(right).logical_or(eager.isnan().logical_and(right.isnan()));
    (*errors)[i] = at::where(same, 0.0, eager - right);  // −Inf, too, is no error where it should be
  }
  return std::nullopt;
}

}  // namespace tritogen
