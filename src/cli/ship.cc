#include "cli/ship.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "plan/hash.h"
#include "plan/visit.h"

namespace tritogen {
namespace {

// Whether training mode and evaluation mode are two programs (dropout, batch statistics).
bool ModeMatters(Recorder* recorder, RecordRequest request, const Plan& reference) {
  if (request.is_function) return false;
  request.training = !reference.training;
  auto recorded = recorder->Record(request);
  Plan* other = std::get_if<Plan>(&recorded);
  if (other == nullptr) return true;
  other->training = reference.training;
  return PlanHash(*other) != PlanHash(reference);
}

bool CopiesOrViews(const AtenStep& step) {
  constexpr std::array kOps = {"aten::view",   "aten::reshape",    "aten::expand", "aten::unsqueeze",
                               "aten::detach", "aten::lift_fresh", "aten::clone",  "aten::_to_copy"};
  return std::find(kOps.begin(), kOps.end(), WithoutOverload(step.op)) != kOps.end();
}

// The plan with the constants of its set-up, and what is copied and viewed of nothing else, behind the rest
// of it, where the printed module makes them. As it is where other steps use them.
Plan WithConstantsLast(Plan plan) {
  std::set<StorageId> constant;
  const auto is_constant = [&](TensorId id) { return constant.count(plan.tensors[id].storage) > 0; };
  std::vector<Step> rest, moved;
  for (const Step& step : plan.setup) {
    bool any = false, all = true;
    ForEachUse(step, [&](TensorId id) {
      any |= is_constant(id);
      all &= is_constant(id);
    });
    const auto* aten = std::get_if<AtenStep>(&step);
    const bool moves =
        std::holds_alternative<ConstantStep>(step) || (aten != nullptr && any && all && CopiesOrViews(*aten));
    if (any && !moves) return plan;
    if (moves) ForEachResult(step, [&](TensorId id) { constant.insert(plan.tensors[id].storage); });
    (moves ? moved : rest).push_back(step);
  }
  rest.insert(rest.end(), moved.begin(), moved.end());
  plan.setup = std::move(rest);
  return plan;
}

// The printed module extends the reference's class: of the candidate's own buffers it has none.
Plan WithBuffersOf(const Plan& reference, Plan plan) {
  std::erase_if(plan.unsaved, [&](const StateEntry& entry) {
    return std::ranges::find(reference.unsaved, entry.name, &StateEntry::name) == reference.unsaved.end();
  });
  return plan;
}

}  // namespace

std::variant<std::string, EmitFailure> Ship(Recorder* recorder, const RecordRequest& request,
                                            const Plan& reference, const Plan& verified, int variant,
                                            std::vector<std::string> header) {
  const Plan printed = WithBuffersOf(reference, verified);
  auto emitted = EmitModule({.plan = &printed,
                             .variant = variant,
                             .reference_source = request.source,
                             .entry = request.entry,
                             .is_function = request.is_function,
                             .mode_matters = ModeMatters(recorder, request, reference),
                             .header = std::move(header)});
  if (std::holds_alternative<EmitFailure>(emitted)) return emitted;
  auto recorded = recorder->Record({.role = Role::kCandidate,
                                    .source = std::get<std::string>(emitted),
                                    .entry = request.entry,
                                    .is_function = request.is_function,
                                    .reference = &reference});
  if (auto* failure = std::get_if<RecordFailure>(&recorded)) {
    return EmitFailure{
        fmt::format("the printed module does not record (line {}): {}", failure->line, failure->message)};
  }
  const Plan& shipped = std::get<Plan>(recorded);
  Plan expected = WithVariant(verified, variant);
  if (request.is_function) expected.training = shipped.training;  // a function has no mode
  if (PlanHash(WithConstantsLast(shipped)) != PlanHash(WithConstantsLast(std::move(expected)))) {
    return EmitFailure{"the printed module records to another Plan than the verified one"};
  }
  return emitted;
}

}  // namespace tritogen
