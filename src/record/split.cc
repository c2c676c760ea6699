#include "record/split.h"

#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "plan/lift.h"
#include "program/catalogue.h"

namespace tritogen {
namespace {

constexpr int kMostRounds = 3;  // parts have parts

std::set<std::string> UnknownOps(const Program& program) {
  std::set<std::string> names;
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::kOp && !BindCall(node)) names.insert(node.op);
  }
  return names;
}

// Nothing where the program does not run in parts.
std::optional<LiftedReference> Again(const RecordFunction& record, const RecordRequest& request) {
  auto recorded = record(request);
  auto* plan = std::get_if<Plan>(&recorded);
  if (plan == nullptr) return std::nullopt;
  try {
    return LiftReference(std::move(*plan));
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

}  // namespace

LiftedReference LiftReference(Plan plan) {
  auto shared = std::make_shared<const Plan>(std::move(plan));
  auto program = std::make_shared<const Program>(Lift(*shared));
  return {std::move(shared), std::move(program), {}};
}

LiftedReference InKnownOps(const RecordFunction& record, RecordRequest request,
                           const LiftedReference& whole) {
  std::set<std::string> unknown = UnknownOps(*whole.program), split;
  if (unknown.empty()) return whole;
  for (int round = 0; round < kMostRounds; ++round) {
    const size_t before = split.size();
    split.insert(unknown.begin(), unknown.end());
    if (split.size() == before) break;
    request.split.assign(split.begin(), split.end());
    std::optional<LiftedReference> parts = Again(record, request);
    if (!parts) break;
    unknown = UnknownOps(*parts->program);
    if (unknown.empty()) return std::move(*parts);
  }
  LiftedReference left = whole;
  left.unknown.assign(unknown.begin(), unknown.end());
  return left;
}

}  // namespace tritogen
