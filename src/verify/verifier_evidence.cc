#include "verify/verifier_evidence.h"

#include <fmt/format.h>

#include <cmath>

#include "cuda/known_faults.h"
#include "device/gpu.h"
#include "verify/precision.h"

namespace tritogen {
namespace {

std::vector<int64_t> Unravel(int64_t index, at::IntArrayRef sizes) {
  std::vector<int64_t> place(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    place[d] = index % sizes[d];
    index /= sizes[d];
  }
  return place;
}

}  // namespace

Objection ObjectionOf(const ReplayFailure& failure) {
  Objection objection{OutcomeOf(failure.kind), failure.message, ""};
  if (failure.line > 0) objection.evidence["line"] = failure.line;
  if (failure.fault) {
    objection.evidence["fault"] = {{"message", failure.fault->message},
                                   {"line", failure.fault->line},
                                   {"program", failure.fault->program},
                                   {"buffer", failure.fault->buffer},
                                   {"offset", failure.fault->offset}};
  }
  return objection;
}

Objection WrongValues(const Task::Impl& task, const Plan& candidate, size_t output, const Trial& trial,
                      const Comparison& comparison) {
  const OutputCheck& check = trial.outputs[output];
  nlohmann::json evidence = {{"output", output},
                             {"trial", trial.name()},
                             {"error", comparison.error},
                             {"budget", comparison.budget}};
  std::string where = comparison.beside == Comparison::Beside::kMost   ? "in most elements"
                      : comparison.beside == Comparison::Beside::kGain ? "in what its errors have in common"
                                                                       : "in the root mean square",
              beside;
  if (comparison.index >= 0) {
    evidence["index"] = Unravel(comparison.index, check.expected.exact().sizes());
    evidence["expected"] = comparison.expected;
    evidence["got"] = comparison.got;
    where = fmt::format("at {}: expected {:.9g}, got {:.9g}", evidence["index"].dump(), comparison.expected,
                        comparison.got);
    if (comparison.beside == Comparison::Beside::kColumn) beside = " beside the others of its column";
    if (comparison.beside == Comparison::Beside::kFills) beside = " beside others as large";
  }
  std::string rule;
  if (std::isfinite(comparison.error) && check.tf32_rms > 0) {
    const double tf32_rms = check.tf32_rms * check.expected.scale();
    rule =
        DowngradeRule(TracesOf(task.plan, candidate, task.options.fp32_precision), comparison.rms, tf32_rms);
  }
  const char* contract = task.cuts_factors ? "a TF32" : "an fp32";
  const std::string kind =
      rule.empty() ? "" : fmt::format(" (computed in {} under {} contract)", rule, contract);
  return {Outcome::kWrongValues,
          fmt::format("{} is wrong for '{}' inputs {}; error {:.2g} of its scale, allowed {:.2g}{}{}",
                      task.OutputName(output), trial.name(), where, comparison.error, comparison.budget,
                      beside, kind),
          rule, std::move(evidence)};
}

std::string NoteOfCompiler(const Plan& candidate) {
  Gpu* gpu = Gpu::Current();
  if (gpu == nullptr || gpu->lost()) return "";
  const std::vector<Gpu::Loaded> loaded = gpu->Load(candidate.kernels);
  for (size_t i = 0; i < loaded.size(); ++i) {
    const auto* kernel = std::get_if<std::shared_ptr<const cuda::LoadedKernel>>(&loaded[i]);
    if (kernel == nullptr || cuda::LostConstants((*kernel)->compiled().cubin) == 0) continue;
    return fmt::format(
        "the compiler may be at fault: ptxas has lost a constant of kernel {} (VIADD.16x2 adds 0 where PTX "
        "adds a number; docs/verdicts.md, \"Faults of the compiler\"); --device cpu judges without it",
        candidate.kernels[i].name);
  }
  return "";
}

Objection Unsteady(size_t output, const Trial& trial, const Objection& wrong) {
  Objection objection{
      Outcome::kNondeterministic,
      fmt::format("output {} depends on the order in which programs run, or on undefined memory", output),
      ""};
  objection.evidence = {{"output", output}, {"trial", trial.name()}, {"once", wrong.reason}};
  return objection;
}

}  // namespace tritogen
