#include "verify/verifier_large.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string_view>

#include "plan/visit.h"
#include "verify/local_flow.h"

namespace tritogen {
namespace {

constexpr double kOverflows = 89;  // exp of more is infinite in float32
constexpr double kMostTimes = 32;
constexpr size_t kMostProbes = 32;

std::vector<Probe> Exponentials(const Plan& plan) {
  std::vector<Probe> probes;
  for (const Step& step : plan.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    if (aten == nullptr || aten->args.empty() || !HasExponential(*aten)) continue;
    const auto* tensor = std::get_if<TensorRef>(&aten->args[0].v);
    if (tensor != nullptr && IsFloating(plan.tensors[tensor->id].dtype))
      probes.push_back({aten, tensor->id, {}, {}});
    if (probes.size() == kMostProbes) break;
  }
  return probes;
}

// The largest numbers that the calls are given, by call; empty where the reference does not run.
std::vector<double> Largest(const Task::Impl& task, const Bindings& bindings, const Wish& wish,
                            const Deadline& deadline, TrialMaker* maker, std::vector<Probe>* probes) {
  std::string reason;
  TensorList outputs;
  const auto trial = maker->MakeInputs(wish, &reason);
  ReplayOptions options = ReferenceOptionsFor(task.options, deadline);
  options.probes = probes;
  Replayer eager(task.plan, options);
  if (!trial || SetUp(task, task.plan, bindings, &eager) ||
      eager.Run(CloneAll(trial->inputs), trial->run_seed, &outputs))
    return {};
  std::vector<double> largest;
  for (Probe& probe : *probes) {
    const bool any = probe.seen.defined() && probe.seen.numel() > 0;
    largest.push_back(any ? probe.seen.max().to(at::kDouble).item<double>() : kOverflows);
    probe.seen.reset();
  }
  return largest;
}

}  // namespace

bool HasExponential(const AtenStep& step) {
  constexpr std::string_view kOps[] = {
      "aten::exp",      "aten::exp2",        "aten::logsumexp",           "aten::cross_entropy_loss",
      "aten::softplus", "aten::log_sigmoid", "aten::log_sigmoid_forward", "aten::tanh",
      "aten::mish",     "aten::gelu"};
  return WithoutOverload(step.op).find("softmax") != std::string_view::npos ||
         OneOf(OutOfPlaceName(step), kOps);
}

std::optional<double> TimesUntilOverflow(const Task::Impl& task, const Bindings& bindings, uint64_t seed,
                                         const Deadline& deadline, TrialMaker* maker) {
  std::vector<Probe> probes = Exponentials(task.plan);
  if (probes.empty() || task.cuts_factors || task.spares_memory) return std::nullopt;
  Wish wish{Distribution::kLarge, seed};
  const auto largest = [&] { return Largest(task, bindings, wish, deadline, maker, &probes); };
  const std::vector<double> before = largest();
  double least = kOverflows;
  for (const double size : before) {
    if (size > 0) least = std::min(least, size);
  }
  if (least >= kOverflows) return std::nullopt;
  wish.strength = std::min(kMostTimes, kLeastLarge / least);
  const std::vector<double> after = largest();
  for (size_t i = 0; i < after.size() && i < before.size(); ++i) {
    if (before[i] < kOverflows && after[i] >= kOverflows) return wish.strength;
  }
  return std::nullopt;
}

}  // namespace tritogen
