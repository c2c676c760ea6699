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

// A complex tensor that set-up made comes to a program in parts as its memory: a view, which nobody computes.
bool IsPairOfSetup(const Program& program, const Node& node) {
  if (node.op != "aten::view_as_real" || node.args.size() != 1) return false;
  const NodeRef* ref = AsRef(node.args[0]);
  return ref != nullptr && program.nodes[ref->id].kind != NodeKind::kOp;
}

bool MeetsComplex(const Program& program, const Node& node) {
  bool found = false;
  for (const Shape& shape : node.results) found |= IsComplex(shape.dtype);
  ForEachRef(node, [&](NodeRef ref) { found |= IsComplex(program.nodes[ref.id].results[ref.result].dtype); });
  return found;
}

// Rows of the catalogue are about real numbers. Whichever operator is named, the recorder takes all that is
// complex apart; of this one there are no other parts.
std::set<std::string> UnknownOps(const Program& program) {
  std::set<std::string> names;
  for (const Node& node : program.nodes) {
    if (node.kind != NodeKind::kOp || IsPairOfSetup(program, node)) continue;
    if (MeetsComplex(program, node)) names.insert("aten::view_as_real");
    if (!BindCall(node)) names.insert(node.op);
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

bool HasComplex(const Program& program) {
  for (const Node& node : program.nodes) {
    for (const Shape& shape : node.results) {
      if (IsComplex(shape.dtype)) return true;
    }
  }
  return false;
}

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
