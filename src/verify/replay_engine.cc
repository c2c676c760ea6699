#include "verify/replay_engine.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "device/aten_dtype.h"
#include "device/random.h"
#include "device/raw_memory.h"
#include "plan/visit.h"
#include "verify/replay_error.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

using Failure = ReplayFailure::Kind;

// Equal as far as addresses go: strides of dimensions with one index do not matter.
bool SameLayout(const at::Tensor& tensor, const TensorMeta& meta) {
  if (tensor.numel() == 0) return true;
  if (tensor.storage_offset() != meta.offset) return false;
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.sizes[i] > 1 && tensor.stride(i) != meta.strides[i]) return false;
  }
  return true;
}

bool LiesInStorage(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return true;
  __int128 last = tensor.storage_offset();
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    last += static_cast<__int128>(tensor.size(i) - 1) * tensor.stride(i);
  }
  return (last + 1) * static_cast<__int128>(tensor.element_size()) <= tensor.storage().nbytes();
}

bool OwnsItsMemory(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1;
}

// Values that state may have after many calls, unlike those that it has after few.
void DrawState(uint64_t seed, const at::Tensor& state) {
  const Random random(seed, state.device());
  if (at::isFloatingType(state.scalar_type())) {
    state.copy_(random.Uniform(state.sizes(), 0.5, 2));
  } else if (state.scalar_type() == at::kBool) {
    state.copy_(state.logical_not());
  } else {
    const double most = std::ldexp(1, static_cast<int>(state.element_size()) * 8 - 2);
    state.copy_(random.Uniform(state.sizes(), most / 2, most).floor_());
  }
}

// What a tensor from outside stands in `storages_` as, when several share one storage id: never compared.
const c10::StorageImpl* const kAnyStorage =
    reinterpret_cast<const c10::StorageImpl*>(alignof(c10::StorageImpl));

}  // namespace

ReplayEngine::ReplayEngine(const Plan& plan, const ReplayOptions& options)
    : plan_(plan),
      options_(options),
      target_{options.on_gpu ? Gpu::Current()->device() : at::kCPU, options.in_float64,
              options.on_gpu && !options.check_memory && !options.queue_only},
      names_(StorageNames(plan)),
      undefined_(options.order_seed, options.leftovers) {
  if (options.on_gpu) loaded_ = Gpu::Current()->Load(plan.kernels);
  for (Phase phase : {Phase::kGenerate, Phase::kSetup, Phase::kRun}) {
    phases_[static_cast<size_t>(phase)] = MakeReady(phase);
  }
  call_tensors_ = TensorLeaves(plan.inputs);
  for (TensorId id : call_tensors_) call_storages_.push_back(plan.tensors[id].storage);
  auto add_born = [](const std::vector<Lifetime>& lifetimes, auto* born) {
    for (size_t id = 0; id < lifetimes.size(); ++id) {
      if (lifetimes[id].birth >= 0) born->push_back(static_cast<int32_t>(id));
    }
  };
  add_born(TensorLifetimes(plan, Phase::kRun), &call_tensors_);
  add_born(StorageLifetimes(plan, Phase::kRun), &call_storages_);
  DropAll();
}

std::vector<ReplayEngine::MadeReady> ReplayEngine::MakeReady(Phase phase) const {
  const std::vector<Step>& steps = StepsOf(plan_, phase);
  std::vector<MadeReady> ready;
  ready.reserve(steps.size());
  for (const Step& step : steps) ready.push_back(MakeReady(step));
  auto lifetimes = TensorLifetimes(plan_, phase);
  for (size_t id = 0; id < lifetimes.size(); ++id) {
    const auto [birth, death] = lifetimes[id];
    if (death < 0 || death >= static_cast<int>(steps.size())) continue;
    ready[death].dying.push_back(static_cast<TensorId>(id));
    // Others than a call's may still be bound.
    if (birth == death && phase == Phase::kRun) ready[death].unread.push_back(static_cast<TensorId>(id));
  }
  return ready;
}

ReplayEngine::MadeReady ReplayEngine::MakeReady(const Step& step) const {
  MadeReady ready{&step, ReplayFailure{}, {}, {}, {}};
  try {
    if (const auto* aten = std::get_if<AtenStep>(&step)) {
      std::unordered_set<TensorId> used;
      ForEachUse(step, [&](TensorId id) { used.insert(id); });
      for (TensorId id : aten->outs) ready.in_place.push_back(used.count(id) > 0);
      ready.action.emplace<AtenCall>(plan_, *aten, target_);
    } else if (const auto* constant = std::get_if<ConstantStep>(&step)) {
      ready.action.emplace<at::Tensor>(Constant(*constant));
    } else {
      ready.action = MakeLaunch(std::get<LaunchStep>(step));
    }
  } catch (const ReplayError& error) {
    ready.action = error.failure;
  }
  return ready;
}

std::unique_ptr<LaunchCall> ReplayEngine::MakeLaunch(const LaunchStep& step) const {
  if (options_.on_gpu) return MakeGpuLaunch(plan_, step, options_, loaded_);
  return MakeTileLaunch(plan_, step, options_, names_);
}

at::ScalarType ReplayEngine::TypeOf(TensorId id) const {
  Dtype dtype = plan_.tensors[id].dtype;
  return options_.in_float64 ? InFloat64(dtype) : ToScalarType(dtype);
}

at::Tensor ReplayEngine::Constant(const ConstantStep& step) const {
  const TensorMeta& meta = plan_.tensors[step.out];
  at::Tensor tensor = at::empty(meta.sizes, ToScalarType(meta.dtype));
  if (!step.data.empty()) std::memcpy(tensor.mutable_data_ptr(), step.data.data(), step.data.size());
  return tensor.to(target_.device, TypeOf(step.out));
}

void ReplayEngine::Start(uint64_t seed) {
  start_ = std::chrono::steady_clock::now();
  random_.Seed(seed, target_.device);
  casts_ = 0;
  cast_seed_ = SubSeed(options_.cast_seed, seed);
}

double ReplayEngine::SecondsLeft() const {
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  return options_.deadline_seconds - spent.count();
}

void ReplayEngine::DropAll() {
  slots_.assign(plan_.tensors.size(), at::Tensor());
  storages_.assign(plan_.storages.size(), nullptr);
  state_.Clear();
  undefined_ = UndefinedMemory(options_.order_seed, options_.leftovers);
}

void ReplayEngine::DropCall() {
  for (TensorId id : call_tensors_) slots_[id].reset();
  for (StorageId id : call_storages_) storages_[id] = nullptr;
}

void ReplayEngine::Place(TensorId id, const at::Tensor& tensor, const std::string& what) {
  if (!tensor.defined()) FailReplay(Failure::kInfraError, 0, "{} is missing", what);
  slots_[id] = Conform(tensor, id, what, 0, /*from_outside=*/true);
  storages_[plan_.tensors[id].storage] = kAnyStorage;
}

void ReplayEngine::Execute(Phase phase, const std::function<void(int)>& after_step) {
  auto& steps = phases_[static_cast<size_t>(phase)];
  for (size_t i = 0; i < steps.size(); ++i) {
    ExecuteStep(steps[i]);
    if (after_step) after_step(static_cast<int>(i));
    for (TensorId id : steps[i].dying) slots_[id].reset();
    undefined_.Sweep();
  }
}

void ReplayEngine::ExecuteStep(MadeReady& ready) {
  int line = LineOf(*ready.step);
  if (SecondsLeft() <= 0)
    FailReplay(Failure::kTimeout, line, "the replay took longer than {} s", options_.deadline_seconds);
  if (auto* failure = std::get_if<ReplayFailure>(&ready.action)) {
    throw ReplayError{*failure};
  } else if (auto* call = std::get_if<AtenCall>(&ready.action)) {
    CallAten(std::get<AtenStep>(*ready.step), ready, *call);
  } else if (auto* value = std::get_if<at::Tensor>(&ready.action)) {
    Store(std::get<ConstantStep>(*ready.step).out, value->clone(), "constant", line);
  } else {
    const auto& launch = std::get<std::unique_ptr<LaunchCall>>(ready.action);
    for (TensorId id : launch->writes()) state_.BeforeWrite(slots_[id]);
    launch->Call(slots_, &undefined_, SecondsLeft());
  }
}

void ReplayEngine::Forget() {
  for (TensorId id : options_.forgotten) {
    state_.BeforeWrite(slots_[id]);
    undefined_.Born(slots_[id]);
  }
  for (TensorId id : options_.redrawn) {
    state_.BeforeWrite(slots_[id]);
    DrawState(SubSeed(options_.order_seed, ++redraws_), slots_[id]);
  }
}

// ATen calls may read memory that nobody wrote, as in eager PyTorch, but not what the call was to forget.
void ReplayEngine::CheckReads(const AtenStep& step) {
  if (options_.forgotten.empty() || KindOf(plan_, step) == OpKind::kView) return;
  for (TensorId id : ReadArguments(step)) {
    const StorageId storage = plan_.tensors[id].storage;
    const bool forgotten = std::any_of(options_.forgotten.begin(), options_.forgotten.end(),
                                       [&](TensorId f) { return plan_.tensors[f].storage == storage; });
    if (forgotten && undefined_.FirstUndefined(slots_[id])) {
      FailReplay(Failure::kMemoryError, step.line, "{} reads {}, which nobody wrote", step.op,
                 names_[storage]);
    }
  }
}

void ReplayEngine::CallAten(const AtenStep& step, const MadeReady& ready, const AtenCall& call) {
  CheckReads(step);
  for (TensorId id : call.writes()) state_.BeforeWrite(slots_[id]);
  std::vector<at::Tensor> results;
  if (options_.on_gpu && options_.check_memory && call.returns_undefined_memory() &&
      FirstResult(step) != kNoTensor) {
    results.push_back(Fresh(step.outs[0]));
  } else if (options_.order_of_equals != 0 && OrdersFreely(step)) {
    results = CallOrdered(step, call);
  } else if (AllowsTf32(options_.factors, step.op)) {
    results = CallCut(step, call);
  } else {
    results = CallProbed(step, call);
  }
  if (options_.moves_casts != 0 && IsCastToHalf(plan_, step)) MoveCast(step, &results.at(0));
  if (results.size() != step.outs.size()) {
    FailReplay(Failure::kInfraError, step.line, "{} gave {} tensors, the Plan says {}", step.op,
               results.size(), step.outs.size());
  }
  for (TensorId id : call.writes()) undefined_.Written(slots_[id]);
  for (size_t i = 0; i < results.size(); ++i) {
    TensorId id = step.outs[i];
    if (id == kNoTensor) continue;
    if (ready.in_place[i]) {
      slots_[id] = Conform(std::move(slots_[id]), id, step.op, step.line, /*from_outside=*/false);
      continue;
    }
    if (!results[i].defined()) FailReplay(Failure::kInfraError, step.line, "{} gave no tensor", step.op);
    // log_sigmoid_forward's buffer, say, which is empty on a GPU.
    if (results[i].sizes() != at::IntArrayRef(plan_.tensors[id].sizes) &&
        std::ranges::count(ready.unread, id) > 0)
      continue;
    if (call.copies_view()) storages_[plan_.tensors[id].storage] = kAnyStorage;
    Store(id, std::move(results[i]), step.op, step.line);
    const bool poison = options_.check_memory || !options_.on_gpu;
    if (poison && call.returns_undefined_memory()) undefined_.Born(slots_[id]);
  }
}

at::Tensor ReplayEngine::Fresh(TensorId id) const {
  const TensorMeta& meta = plan_.tensors[id];
  const at::ScalarType type = TypeOf(id);
  const int64_t elements = plan_.storages[meta.storage] / static_cast<int64_t>(DtypeSize(meta.dtype));
  const int64_t bytes = elements * static_cast<int64_t>(c10::elementSize(type));
  const at::Tensor memory = Gpu::Current()->guards().Allocate(bytes, target_.device);
  return ViewOf(memory, type, meta.offset, meta.sizes, meta.strides);
}

at::Tensor ReplayEngine::InRecordedLayout(const at::Tensor& tensor, TensorId id) const {
  const TensorMeta& meta = plan_.tensors[id];
  int64_t elements = plan_.storages[meta.storage] / static_cast<int64_t>(DtypeSize(meta.dtype));
  at::Tensor memory = at::empty({elements}, tensor.options());
  return memory.as_strided(meta.sizes, meta.strides, meta.offset).copy_(tensor);
}

at::Tensor ReplayEngine::Conform(at::Tensor tensor, TensorId id, const std::string& what, int line,
                                 bool from_outside) const {
  const TensorMeta& meta = plan_.tensors[id];
  if (tensor.layout() != at::kStrided) {
    FailReplay(Failure::kInfraError, line, "{} gave a tensor of an unknown kind", what);
  }
  if (tensor.device() != target_.device) {
    if (!from_outside) FailReplay(Failure::kInfraError, line, "{} gave a tensor on another device", what);
    tensor = tensor.to(target_.device);
  }
  at::ScalarType type = TypeOf(id);
  bool may_copy = from_outside || OwnsItsMemory(tensor);
  bool inexact = at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type());
  bool may_widen = options_.in_float64 && may_copy && inexact;
  if (tensor.scalar_type() != type && may_widen) tensor = tensor.to(type);
  if (tensor.scalar_type() != type || tensor.sizes() != at::IntArrayRef(meta.sizes)) {
    FailReplay(Failure::kInfraError, line, "{} gave {}, the Plan says {}", what,
               Describe(tensor.scalar_type(), tensor.sizes()), Describe(type, meta.sizes));
  }
  if (!LiesInStorage(tensor))
    FailReplay(Failure::kInfraError, line, "{} gave a view beyond its storage", what);
  if (SameLayout(tensor, meta)) return tensor;
  if (!may_copy)
    FailReplay(Failure::kInfraError, line, "{} gave a view with other strides than the Plan says", what);
  return InRecordedLayout(tensor, id);
}

void ReplayEngine::Store(TensorId id, at::Tensor tensor, const std::string& what, int line) {
  bool owns = OwnsItsMemory(tensor);
  tensor = Conform(std::move(tensor), id, what, line, /*from_outside=*/false);
  const c10::StorageImpl*& known = storages_[plan_.tensors[id].storage];
  if (!known) {
    if (!owns) tensor = InRecordedLayout(tensor, id);  // new memory in the Plan, a view here
    known = tensor.storage().unsafeGetStorageImpl();
  } else if (known != kAnyStorage && known != tensor.storage().unsafeGetStorageImpl()) {
    FailReplay(Failure::kInfraError, line, "{} gave new memory where the Plan says a view", what);
  }
  slots_[id] = std::move(tensor);
}

}  // namespace tritogen
