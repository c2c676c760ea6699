#include "cli/ship.h"

#include <fmt/format.h>

#include "plan/hash.h"

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

}  // namespace

std::variant<std::string, EmitFailure> Ship(Recorder* recorder, const RecordRequest& request,
                                            const Plan& reference, const Plan& verified, int variant,
                                            std::vector<std::string> header) {
  auto emitted = EmitModule({.plan = &verified,
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
  if (PlanHash(shipped) != PlanHash(expected)) {
    return EmitFailure{"the printed module records to another Plan than the verified one"};
  }
  return emitted;
}

}  // namespace tritogen
