#include "verify/verifier_task.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/gpu.h"
#include "device/random.h"
#include "plan/visit.h"

namespace tritogen {

PendingComparison OutputCheck::CompareLater(const std::optional<IndexSource>& source,
                                            const at::Tensor& got) const {
  if (order_is_open) return Compare(source, got);
  if (!source || !indexed) return expected.CompareLater(WithoutBroken(WithinRange(got)));
  return Compare(source, got);
}

Comparison OutputCheck::Compare(const std::optional<IndexSource>& source, const at::Tensor& got) const {
  // Of floats of a byte PyTorch does not say whether they are finite.
  const auto finite = [](const at::Tensor& x) {
    return (x.element_size() == 1 ? x.to(at::kDouble) : x).isfinite().all().item<bool>();
  };
  if (order_is_open && finite(got)) return {};
  if (spares_broken && indexed && !indexed->exact().isfinite().all().item<bool>()) return {};
  Comparison result = expected.Compare(WithoutBroken(WithinRange(got)));
  if (result.ok || !source || !indexed) return result;
  const double share = result.allclose;
  IndexSource asked = *source;
  asked.stable = asked.stable && indexes_exact;
  asked.first = asked.first && indexes_exact;
  result = CompareIndices(asked, *indexed, expected, got);
  result.allclose = share;
  return result;
}

namespace {

// Of integers: what is further than half of all values from what is expected has gone beyond the largest or
// the smallest one, and wrapped around.
at::Tensor Unwrapped(const at::Tensor& moved, const at::Tensor& exact) {
  const int bits = static_cast<int>(exact.element_size()) * 8;
  if (bits > 16 || exact.scalar_type() == at::kBool) return moved;
  const double half = std::ldexp(1, bits - 1), least = c10::isSignedType(exact.scalar_type()) ? -half : 0;
  const at::Tensor from = exact.to(at::kDouble), to = moved.to(at::kDouble);
  const at::Tensor end = at::where(to.lt(from), least + 2 * half - 1, least);
  return at::where((to - from).abs().lt(half), to, end.to(at::kDouble)).to(exact.scalar_type());
}

}  // namespace

at::Tensor OutputCheck::WithinRange(const at::Tensor& got) const {
  if (!up.defined()) return got;
  const at::Tensor &exact = expected.exact(), wide = got.to(exact.scalar_type());
  if (!at::isFloatingType(expected.dtype())) {
    const at::Tensor a = Unwrapped(up, exact), b = Unwrapped(down, exact);
    const at::Tensor low = at::minimum(at::minimum(a, b), exact),
                     high = at::maximum(at::maximum(a, b), exact);
    const at::Tensor within = wide.ge(low).logical_and_(wide.le(high));
    return at::where(within.logical_or_(wide.eq(up)).logical_or_(wide.eq(down)), exact, wide);
  }
  const at::Tensor low = at::minimum(at::minimum(up, down), exact);
  const at::Tensor high = at::maximum(at::maximum(up, down), exact);
  const at::Tensor beyond = exact + (wide - wide.clamp(low, high));
  return at::where(high.gt(low).logical_and_(beyond.isfinite()), beyond, wide);
}

at::Tensor OutputCheck::WithoutBroken(const at::Tensor& got) const {
  if (!spares_broken || !at::isFloatingType(expected.dtype())) return got;
  const at::Tensor& exact = expected.exact();
  return at::where(exact.isfinite(), got.to(at::kDouble), exact);
}

int64_t BytesOf(const Trial& trial) {
  int64_t bytes = trial.remade_bytes;
  for (const at::Tensor& input : trial.inputs) bytes += static_cast<int64_t>(input.nbytes());
  for (const OutputCheck& output : trial.outputs) {
    bytes += static_cast<int64_t>(output.expected.exact().nbytes());
    if (output.indexed) bytes += static_cast<int64_t>(output.indexed->exact().nbytes());
  }
  return bytes;
}

std::vector<const Expectation*> ExpectationsOf(const Trial& trial) {
  std::vector<const Expectation*> expectations;
  for (const OutputCheck& check : trial.outputs) {
    expectations.push_back(&check.expected);
    if (check.indexed) expectations.push_back(&*check.indexed);
  }
  return expectations;
}

bool BreaksDown(const Trial& trial) {
  if (HoldsBroken(trial.distribution)) return false;
  const std::vector<const Expectation*> expectations = ExpectationsOf(trial);
  Expectation::Fetch(expectations);
  return std::any_of(expectations.begin(), expectations.end(),
                     [](const Expectation* e) { return e->broken() > 0; });
}

std::vector<PendingComparison> CompareLater(const Task::Impl& task, const Trial& trial,
                                            std::span<const at::Tensor> outputs) {
  std::vector<PendingComparison> comparisons;
  for (size_t i = 0; i < trial.outputs.size(); ++i)
    comparisons.push_back(trial.outputs[i].CompareLater(task.index_sources[i], outputs[i]));
  return comparisons;
}

TensorList CloneAll(const TensorList& tensors) {
  TensorList copies;
  for (const at::Tensor& tensor : tensors) {
    copies.push_back(tensor.device().is_cpu() ? tensor.clone() : Gpu::Current()->guards().Copy(tensor));
  }
  return copies;
}

std::optional<ReplayFailure> GenerateWarmup(const Task::Impl& task, const Deadline& deadline,
                                            TensorList* warmup, TensorList* init_inputs) {
  Replayer generator(task.plan, ReferenceOptionsFor(task.options, deadline));
  return generator.Generate(SubSeed(task.options.seed, 3), warmup, init_inputs);
}

std::optional<ReplayFailure> SetUp(const Task::Impl& task, const Plan& plan, const Bindings& bindings,
                                   Replayer* replayer, std::optional<uint64_t> seed) {
  TensorList warmup;
  if (!TensorLeaves(plan.warmup_inputs).empty()) {
    TensorList unused;
    warmup = task.warmup;
    if (warmup.empty()) {
      const Deadline deadline(task.options.budget_seconds);
      if (auto failure = GenerateWarmup(task, deadline, &warmup, &unused)) return failure;
    }
    warmup = CloneAll(warmup);
  }
  return replayer->SetUp(seed.value_or(task.weight_seed), CloneAll(task.init_inputs), warmup, bindings);
}

Outcome OutcomeOf(ReplayFailure::Kind kind) {
  switch (kind) {
    case ReplayFailure::Kind::kCompileError:
      return Outcome::kCompileError;
    case ReplayFailure::Kind::kRuntimeError:
      return Outcome::kRuntimeError;
    case ReplayFailure::Kind::kMemoryError:
      return Outcome::kMemoryError;
    case ReplayFailure::Kind::kTimeout:
      return Outcome::kTimeout;
    case ReplayFailure::Kind::kInfraError:
      return Outcome::kInfraError;
  }
  return Outcome::kInfraError;
}

ReplayOptions OptionsFor(const VerifyOptions& options, const Deadline& deadline) {
  ReplayOptions replay;
  replay.on_gpu = options.on_gpu;
  replay.threads = options.threads;
  replay.deadline_seconds = std::max(0.05, deadline.left());
  replay.memory_bytes = options.memory_bytes;
  replay.libraries = options.fp32_precision;
  replay.order_seed = SubSeed(options.seed, 1);
  return replay;
}

ReplayOptions ReferenceOptionsFor(const VerifyOptions& options, const Deadline& deadline) {
  ReplayOptions replay = OptionsFor(options, deadline);
  replay.queue_only = options.on_gpu;
  replay.libraries =
      Fp32Precision::kIeee;  // what a contract allows is added to what float32 as it is makes of it
  if (options.on_gpu) replay.check_memory = false;
  return replay;
}

std::string Task::Impl::OutputName(size_t output) const {
  if (output < returned) return fmt::format("output {}", output);
  size_t leaf = 0;
  for (size_t left = output - returned; leaf < mutates_input.size(); ++leaf) {
    if (mutates_input[leaf] && left-- == 0) break;
  }
  return fmt::format("input {} after the call", leaf);
}

bool Task::Impl::HasRoomForTrial() const {
  const Gpu* gpu = options.on_gpu && keeps_no_trials ? Gpu::Current() : nullptr;
  return gpu == nullptr || gpu->FreeBytes() > trial_bytes / 10 * 11;  // operators take some for themselves
}

const Setting* Task::Impl::BySeed() const {
  if (bound.bindings.empty()) return &bound;
  std::call_once(by_seed_once_, [this] {
    Bindings non_neutral;
    for (const std::string& name : replaced) non_neutral[name] = bound.bindings.at(name);
    const Deadline deadline(options.budget_seconds);
    auto made = MakeSetting(*this, std::move(non_neutral), deadline);
    auto* setting = std::get_if<Setting>(&made);
    if (setting == nullptr) return;
    if (!spares_memory) Harden(*this, deadline, setting);
    setting->hurried = deadline.hurried();
    by_seed_ = std::move(*setting);
  });
  return by_seed_ ? &*by_seed_ : nullptr;
}

int64_t Task::bytes() const {
  int64_t bytes = 0;
  const auto add = [&](const Setting& setting) {
    for (const Trial& trial : setting.trials) bytes += BytesOf(trial);
  };
  add(impl_->bound);
  if (impl_->by_seed()) add(*impl_->by_seed());
  for (const Setting& setting : impl_->displaced()) add(setting);
  return bytes;
}

bool Task::grown() const {
  return impl_->by_seed().has_value();
}

const Plan& Task::plan() const {
  return impl_->plan;
}

bool Task::spoiled() const {
  return impl_->spoiled;
}

}  // namespace tritogen
