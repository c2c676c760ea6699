#include "cli/ship.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "emit/preparation.h"
#include "emit/returns.h"
#include "emit/updates.h"
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

// Storages of constants of set-up, and of copies and views of nothing else, that no other step of it uses.
std::set<StorageId> ConstantsForCalls(const Plan& plan) {
  std::set<StorageId> constant, used;
  for (bool more = true; more;) {  // who copies what another step uses is another step
    constant.clear();
    more = false;
    for (const Step& step : plan.setup) {
      bool any = false, all = true;
      ForEachUse(step, [&](TensorId id) {
        const bool is_constant = constant.count(plan.tensors[id].storage) > 0;
        any |= is_constant;
        all &= is_constant;
      });
      const auto* aten = std::get_if<AtenStep>(&step);
      bool moves = std::holds_alternative<ConstantStep>(step) ||
                   (aten != nullptr && any && all && CopiesOrViews(*aten));
      ForEachResult(step, [&](TensorId id) { moves &= used.count(plan.tensors[id].storage) == 0; });
      if (moves) {
        ForEachResult(step, [&](TensorId id) { constant.insert(plan.tensors[id].storage); });
      } else if (any) {
        ForEachUse(step, [&](TensorId id) { more |= used.insert(plan.tensors[id].storage).second; });
      }
    }
  }
  return constant;
}

// The plan with such constants behind the rest of its set-up, each with its copies and views, where the
// printed module makes them.
Plan WithConstantsLast(Plan plan) {
  const std::set<StorageId> constant = ConstantsForCalls(plan);
  std::map<StorageId, int> origin;  // which constant comes first in the order of set-up; 0: the rest
  std::vector<std::pair<int, Step>> steps;
  int count = 0;
  for (Step& step : plan.setup) {
    int from = 0;
    ForEachUse(step, [&](TensorId id) {
      if (const auto at = origin.find(plan.tensors[id].storage); at != origin.end()) from = at->second;
    });
    if (from == 0) ++count;
    int place = 0;
    ForEachResult(step, [&](TensorId id) {
      const StorageId storage = plan.tensors[id].storage;
      if (constant.count(storage) > 0) place = origin[storage] = from == 0 ? count : from;
    });
    steps.emplace_back(place, std::move(step));
  }
  std::ranges::stable_sort(steps, {}, &std::pair<int, Step>::first);
  plan.setup.clear();
  for (auto& [place, step] : steps) plan.setup.push_back(std::move(step));
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
                                            const Plan& reference, const Verified& candidate,
                                            std::vector<std::string> header) {
  if (!reference.changed.empty()) {
    return EmitFailure{
        fmt::format("each call of the original changes {}, which kernels would leave as it is; "
                    "return it, or keep it in a buffer",
                    fmt::join(reference.changed, ", "))};
  }
  auto updated = WithUpdates(reference, *candidate.plan, candidate.unchanged_state, candidate.other_state);
  if (auto* failure = std::get_if<EmitFailure>(&updated)) return *failure;
  const Plan& verified = std::get<Plan>(updated);
  const Plan printed = WithBuffersOf(reference, verified);
  auto emitted = EmitModule({.plan = &printed,
                             .variant = candidate.variant,
                             .reference_source = request.source,
                             .entry = request.entry,
                             .is_function = request.is_function,
                             .reference = &reference,
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
  Plan expected = PreparedByRun(WithVariant(verified, candidate.variant));
  expected.packed =
      RenamedTypes(reference.packed, request.entry, OriginalName(request.entry, request.is_function));
  if (request.is_function) expected.training = shipped.training;  // a function has no mode
  if (PlanHash(WithConstantsLast(shipped)) != PlanHash(WithConstantsLast(std::move(expected)))) {
    return EmitFailure{"the printed module records to another Plan than the verified one"};
  }
  return emitted;
}

}  // namespace tritogen
