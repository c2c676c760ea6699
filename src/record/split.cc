#include "record/split.h"

#include <algorithm>
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

// Factors of matrices, which rows of the catalogue tell of: the recorder knows parts of small ones and of
// those that no kernel holds, and leaves the others as they are.
std::set<std::string> FactorOps(const Program& program) {
  static const std::set<std::string_view> kFactors = {
      "linalg_cholesky_ex", "linalg_lu_factor_ex", "linalg_lu", "linalg_solve_triangular", "geqrf",
      "_linalg_eigh",       "_linalg_svd",
  };
  std::set<std::string> names;
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::kOp && kFactors.contains(BaseName(node.op))) names.insert(node.op);
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
  std::set<std::string> unknown = UnknownOps(*whole.program), factors = FactorOps(*whole.program), split;
  if (unknown.empty() && factors.empty()) return whole;
  for (int round = 0; round < kMostRounds; ++round) {
    const size_t before = split.size();
    split.insert(unknown.begin(), unknown.end());
    split.insert(factors.begin(), factors.end());
    if (split.size() == before) break;
    request.split.assign(split.begin(), split.end());
    std::optional<LiftedReference> parts = Again(record, request);
    if (!parts) break;
    unknown = UnknownOps(*parts->program);
    factors = FactorOps(*parts->program);
    const bool asked = std::ranges::all_of(factors, [&](const auto& name) { return split.contains(name); });
    if (unknown.empty() && asked) return std::move(*parts);
  }
  LiftedReference left = whole;
  left.unknown.assign(unknown.begin(), unknown.end());
  return left;
}

}  // namespace tritogen
