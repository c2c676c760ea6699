#include "verify/replay.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/util/Exception.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/thread_team.h"
#include "plan/lifetimes.h"
#include "plan/visit.h"
#include "verify/replay_bind.h"
#include "verify/replay_engine.h"
#include "verify/replay_error.h"
#include "verify/replay_limit.h"

namespace tritogen {
namespace {

using Failure = ReplayFailure::Kind;

class SilentWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

// What holds while a Plan's steps run: bounded memory, no autograd, no output, the threads asked for.
class ReplayScope {
 public:
  ReplayScope(const std::shared_ptr<MemoryBudget>& budget, const ReplayOptions& options)
      : limit_(budget), quiet_(&silent_) {
    const int wanted = options.threads > 0 ? options.threads : MachineThreads();
    if (at::get_num_threads() != wanted) at::set_num_threads(wanted);
    if (!options.on_gpu) return;
    at::globalContext().setAllowTF32CuBLAS(options.libraries == Fp32Precision::kTf32);
    at::globalContext().setAllowTF32CuDNN(options.libraries != Fp32Precision::kIeee);
  }

 private:
  MemoryLimitScope limit_;
  at::AutoDispatchBelowADInplaceOrView no_autograd_;
  SilentWarnings silent_;
  c10::WarningUtils::WarningHandlerGuard quiet_;
};

}  // namespace

Failure OutOfMemoryKind(bool on_gpu) {
  return on_gpu && Gpu::Current()->IsCrowded() ? Failure::kInfraError : Failure::kRuntimeError;
}

struct Replayer::Impl {
  Impl(const Plan& plan, const ReplayOptions& options)
      : plan(plan),
        options(options),
        budget(std::make_shared<MemoryBudget>(options.memory_bytes)),
        engine(plan, options),
        bind_points(FindBindPoints(plan)),
        undefined_after_setup(options.order_seed, options.leftovers),
        peak_bytes(PeakBytes(plan)) {}

  // Runs `body` as one public call, and turns whatever stops it into a value.
  template <typename F>
  std::optional<ReplayFailure> Guarded(std::optional<uint64_t> seed, const F& body) {
    try {
      if (peak_bytes > options.memory_bytes) {
        FailReplay(Failure::kRuntimeError, 0,
                   "the program needs {:.4g} GB of memory at once, {:.4g} GB are allowed", peak_bytes * 1e-9,
                   options.memory_bytes * 1e-9);
      }
      ReplayScope scope(budget, options);
      if (seed) engine.Start(*seed);
      body();
      return std::nullopt;
    } catch (const ReplayError& error) {
      return options.on_gpu ? WhatTheGpuSays(error.failure) : error.failure;
    } catch (const cuda::Error& error) {
      return FailureOf(error);
    } catch (const cuda::Hang& hang) {
      return ReplayFailure{Failure::kTimeout, hang.what(), 0, std::nullopt};
    } catch (const c10::OutOfMemoryError& error) {
      // On a GPU others have their share of the memory: that this one found none is no fault of the program.
      const Failure kind = options.on_gpu ? Failure::kInfraError : Failure::kRuntimeError;
      return ReplayFailure{kind, error.what_without_backtrace(), 0, std::nullopt};
    } catch (const c10::Error& error) {
      return ReplayFailure{Failure::kInfraError, error.what_without_backtrace(), 0, std::nullopt};
    } catch (const std::bad_alloc&) {
      return ReplayFailure{Failure::kRuntimeError, "out of memory", 0, std::nullopt};
    }
  }

  void Finish() {
    if (!options.queue_only) Wait();
  }

  // On a GPU launches and ATen steps are only queued until here.
  void Wait() {
    if (!options.on_gpu) return;
    Gpu& gpu = *Gpu::Current();
    const at::Tensor broken = gpu.guards().CountBroken();
    gpu.Synchronize(std::max(1.0, engine.SecondsLeft()));
    if (auto found = gpu.guards().Broken(broken))
      FailReplay(Failure::kMemoryError, 0, "a kernel wrote outside its buffers: {}", *found);
  }

  static ReplayFailure FailureOf(const cuda::Error& error) {
    const bool access = error.sticky() && error.result() != CUDA_ERROR_ASSERT;
    const Failure kind = error.out_of_memory() ? OutOfMemoryKind(/*on_gpu=*/true)
                         : access ? Failure::kMemoryError
                                               : Failure::kRuntimeError;
    return {kind, error.what(), 0, std::nullopt};
  }

  // A step that failed because an earlier launch had killed the context did nothing wrong itself.
  static ReplayFailure WhatTheGpuSays(const ReplayFailure& failure) {
    try {
      Gpu::Current()->Probe();
      return failure;
    } catch (const cuda::Error& error) {
      return FailureOf(error);
    }
  }

  void PlaceAll(const std::vector<Value>& leaves, const TensorList& tensors, const char* what) {
    std::vector<TensorId> ids = TensorLeaves(leaves);
    if (ids.size() != tensors.size()) {
      FailReplay(Failure::kInfraError, 0, "{} {}s are needed, {} were given", ids.size(), what,
                 tensors.size());
    }
    for (size_t i = 0; i < ids.size(); ++i) engine.Place(ids[i], tensors[i], fmt::format("{} {}", what, i));
  }

  // An output that the program left as it was allocated is a fault, whatever happens to lie there.
  void CheckDefined(const TensorList& outputs) {
    for (size_t i = 0; i < outputs.size() && options.check_memory; ++i) {
      if (auto place = engine.undefined().FirstUndefined(outputs[i])) {
        FailReplay(Failure::kMemoryError, 0, "output {} holds memory that nobody wrote, first at [{}]", i,
                   fmt::join(*place, ", "));
      }
    }
  }

  TensorList Collect(const std::vector<Value>& leaves) const {
    TensorList tensors;
    ForEachTensor(leaves, [&](TensorId id) { tensors.push_back(engine.slot(id)); });
    return tensors;
  }

  void Bind(const std::string& name, const at::Tensor& values) {
    auto point = bind_points.find(name);
    if (point == bind_points.end()) FailReplay(Failure::kInfraError, 0, "there is no state named {}", name);
    const TensorMeta& meta = plan.tensors[point->second.view];
    if (values.sizes() != at::IntArrayRef(meta.sizes)) {
      FailReplay(Failure::kInfraError, 0, "the values for {} have another shape", name);
    }
    at::Tensor through = engine.slot(point->second.through);
    if (through.is_complex() && !IsComplex(meta.dtype)) through = at::view_as_real(through);
    at::Tensor target = through.as_strided(meta.sizes, meta.strides, meta.offset);
    target.copy_(values);
    engine.undefined().Written(target);
  }

  const Plan& plan;
  const ReplayOptions options;
  std::shared_ptr<MemoryBudget> budget;
  ReplayEngine engine;
  std::unordered_map<std::string, BindPoint> bind_points;
  UndefinedMemory undefined_after_setup;
  uint64_t calls = 0;
  const int64_t peak_bytes;
};

Replayer::Replayer(const Plan& plan, const ReplayOptions& options)
    : impl_(std::make_unique<Impl>(plan, options)) {}
Replayer::~Replayer() = default;

std::optional<ReplayFailure> Replayer::Generate(uint64_t seed, TensorList* inputs, TensorList* init_inputs) {
  return impl_->Guarded(seed, [&] {
    impl_->engine.DropAll();
    impl_->engine.Execute(Phase::kGenerate);
    *inputs = impl_->Collect(impl_->plan.inputs);
    *init_inputs = impl_->Collect(impl_->plan.init_inputs);
    impl_->engine.DropAll();
    impl_->Finish();
  });
}

std::optional<ReplayFailure> Replayer::SetUp(uint64_t seed, const TensorList& init_inputs,
                                             const TensorList& warmup,
                                             const std::unordered_map<std::string, at::Tensor>& bindings) {
  return impl_->Guarded(seed, [&] {
    impl_->engine.DropAll();
    impl_->PlaceAll(impl_->plan.init_inputs, init_inputs, "constructor input");
    impl_->PlaceAll(impl_->plan.warmup_inputs, warmup, "first call's input");
    auto bind_after = [&](int step) {
      for (const auto& [name, values] : bindings) {
        auto point = impl_->bind_points.find(name);
        if (point == impl_->bind_points.end() ? step == -1 : point->second.step == step)
          impl_->Bind(name, values);
      }
    };
    bind_after(-1);
    impl_->engine.Execute(Phase::kSetup, bindings.empty() ? nullptr : std::function<void(int)>(bind_after));
    impl_->engine.state().Keep(impl_->engine.slots());
    impl_->undefined_after_setup = impl_->engine.undefined();
    impl_->Finish();
  });
}

std::map<std::string, at::Tensor> Replayer::State() const {
  std::map<std::string, at::Tensor> state;
  for (const StateEntry& entry : impl_->plan.state) state[entry.name] = impl_->engine.slot(entry.tensor);
  return state;
}

bool Replayer::WritesState() const {
  return impl_->engine.state().AnyWritten();
}

std::vector<TensorId> Replayer::Changed() const {
  std::vector<TensorId> changed;
  std::vector<bool> seen(impl_->plan.storages.size(), false);
  for (size_t id = 0; id < impl_->plan.tensors.size(); ++id) {
    const StorageId storage = impl_->plan.tensors[id].storage;
    const at::Tensor& tensor = impl_->engine.slot(static_cast<TensorId>(id));
    if (seen[storage] || !tensor.defined() || !impl_->engine.state().Changed(tensor)) continue;
    seen[storage] = true;
    changed.push_back(static_cast<TensorId>(id));
  }
  return changed;
}

std::optional<ReplayFailure> Replayer::Run(const TensorList& inputs, uint64_t seed, TensorList* outputs) {
  auto failure = impl_->Guarded(seed, [&] {
    impl_->engine.state().Restore();
    impl_->engine.undefined() = impl_->undefined_after_setup;
    const bool even = ++impl_->calls % 2 == 0;
    if (even && impl_->plan.role == Role::kCandidate) impl_->engine.undefined().ChangePoison();
    impl_->engine.Forget();
    impl_->PlaceAll(impl_->plan.inputs, inputs, "input");
    impl_->engine.Execute(Phase::kRun);
    impl_->Finish();
    *outputs = impl_->Collect(impl_->plan.outputs);
    impl_->CheckDefined(*outputs);
    for (at::Tensor& output : *outputs) {
      if (impl_->engine.state().IsState(output)) output = output.clone();  // the next call restores the state
    }
  });
  impl_->engine.DropCall();
  return failure;
}

std::optional<ReplayFailure> Replayer::Await() {
  if (!queues()) return std::nullopt;
  return impl_->Guarded(std::nullopt, [&] { impl_->Wait(); });
}

bool Replayer::queues() const {
  return impl_->options.on_gpu && impl_->options.queue_only;
}

std::optional<ReplayFailure> Replayer::Queue(const TensorList& inputs, TensorList* outputs) {
  auto failure = impl_->Guarded(std::nullopt, [&] {
    impl_->PlaceAll(impl_->plan.inputs, inputs, "input");
    impl_->engine.Execute(Phase::kRun);
    *outputs = impl_->Collect(impl_->plan.outputs);
  });
  impl_->engine.DropCall();
  return failure;
}

void Replayer::RestoreState() {
  impl_->engine.state().Restore();
}

}  // namespace tritogen
