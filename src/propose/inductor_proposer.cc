#include "propose/inductor_proposer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utf8.h"
#include "program/catalogue.h"
#include "program/infer.h"
#include "program/names.h"
#include "program/print.h"
#include "propose/inductor_clean.h"
#include "propose/module_around.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr size_t kMostOperatorsInName = 4;

// Why Inductor is not asked; empty when it is.
std::string Objection(const Program& program) {
  for (NodeRef output : program.outputs) {
    if (output.id < 0) return "a result that is None";
  }
  // Only text whose every operation the catalogue knows is run outside of the jail.
  return ProblemsOf(program).empty() ? "" : "an operator that is not in the catalogue";
}

json RequestJson(const Program& program) {
  json inputs = json::array();
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::kOp) continue;
    inputs.push_back({{"dtype", DtypeName(node.results[0].dtype)}, {"shape", node.results[0].sizes}});
  }
  return {{"program", PrintProgram(program)}, {"inputs", inputs}};
}

CleanRequest CleanRequestFor(const Program& program) {
  CleanRequest request{.function = "compiled", .structure = program.structure};
  const auto names = PrintedNames(program);
  std::vector<std::string> operators;
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    if (node.kind == NodeKind::kOp) {
      operators.push_back(PythonIdentifier(BaseName(node.op)));
    } else {
      request.parameters.push_back(names[i][0]);
    }
  }
  if (operators.size() > kMostOperatorsInName) operators.resize(kMostOperatorsInName);
  if (!operators.empty()) request.kernel_name = fmt::format("{}", fmt::join(operators, "_"));
  return request;
}

}  // namespace

std::vector<Candidate> InductorProposer::Propose(const ProposeRequest& request) {
  TRITOGEN_CHECK(request.program != nullptr);
  const auto none = [&](const std::string& reason) {
    ++reasons_[PrintableText(reason, 200)];
    return std::vector<Candidate>();
  };
  if (const std::string objection = Objection(*request.program); !objection.empty()) return none(objection);
  const double seconds = options_.seconds_per_program + (process_.running() ? 0 : options_.seconds_to_start);
  std::string line;
  if (!process_.Ask(RequestJson(*request.program).dump(), seconds, &line))
    return none("its process gave no answer");
  const json reply = json::parse(line, nullptr, false);
  if (!reply.is_object()) return none("its process gave no answer");
  if (!reply.contains("source")) return none(reply.value("error", ""));
  auto cleaned = CleanInductor(reply.at("source").get<std::string>(), CleanRequestFor(*request.program));
  if (auto* reason = std::get_if<std::string>(&cleaned)) return none("no plain form for " + *reason);
  const auto& plain = std::get<CleanedInductor>(cleaned);
  if (plain.kernels == 0 || (request.strict && plain.library_calls > 0))
    return none("work that it leaves to a library");
  auto module = ModuleAround(plain.code, "compiled", request);
  if (!module) return none("state without a name");
  Candidate candidate{.proposer = "inductor", .plan = plain.plan, .source = std::move(*module)};
  candidate.strategy = fmt::format("compiled, {} kernel{}", plain.kernels, plain.kernels == 1 ? "" : "s");
  return {std::move(candidate)};
}

std::vector<std::string> InductorProposer::TakeRemarks() {
  std::vector<std::string> remarks = Proposer::TakeRemarks();
  for (const auto& [reason, count] : reasons_)
    remarks.push_back(fmt::format("inductor: no candidate for {}: {}",
                                  count == 1 ? "one program" : fmt::format("{} programs", count), reason));
  reasons_.clear();
  return remarks;
}

}  // namespace tritogen
