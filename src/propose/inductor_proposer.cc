#include "propose/inductor_proposer.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/process.h"
#include "base/temp_dir.h"
#include "base/utf8.h"
#include "program/catalogue.h"
#include "program/infer.h"
#include "program/names.h"
#include "program/print.h"
#include "propose/inductor_clean.h"
#include "propose/remote_proposer.h"

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
  return ProposeAll({&request, 1})[0];
}

std::vector<std::vector<Candidate>> InductorProposer::ProposeAll(std::span<const ProposeRequest> requests) {
  std::vector<std::vector<Candidate>> all(requests.size());
  std::vector<size_t> asked;
  std::string lines;
  for (size_t i = 0; i < requests.size(); ++i) {
    TRITOGEN_CHECK(requests[i].program != nullptr);
    if (std::string objection = Objection(*requests[i].program); !objection.empty()) {
      ++reasons_[objection];
      continue;
    }
    asked.push_back(i);
    lines += RequestJson(*requests[i].program).dump() + "\n";
  }
  if (asked.empty()) return all;
  const TempDir folder;
  const std::string in = (folder.path() / "requests").string(), out = (folder.path() / "replies").string();
  WriteFileAtomic(in, lines);
  const ProcessResult process =
      RunProcess({options_.python, options_.worker_folder + "/inductor.py", in, out},
                 {.wall_seconds = options_.seconds_to_start +
                                  options_.seconds_per_program * static_cast<double>(asked.size())});
  std::ifstream replies(out);
  std::string line;
  for (size_t i : asked) {
    const json reply = std::getline(replies, line) ? json::parse(line, nullptr, false) : json();
    if (!reply.is_object() || !reply.contains("source")) {
      const std::string why = reply.is_object()   ? reply.value("error", "")
                              : process.timed_out ? "its process took too long"
                                                  : "its process ended without an answer";
      ++reasons_[PrintableText(why, 200)];
      continue;
    }
    auto cleaned =
        CleanInductor(reply.at("source").get<std::string>(), CleanRequestFor(*requests[i].program));
    if (auto* reason = std::get_if<std::string>(&cleaned)) {
      ++reasons_["no plain form for " + *reason];
      continue;
    }
    const auto& plain = std::get<CleanedInductor>(cleaned);
    auto module = ModuleAround(plain.code, "compiled", requests[i]);
    const bool allowed = plain.kernels > 0 && !(requests[i].strict && plain.library_calls > 0);
    if (!module || !allowed) {
      ++reasons_[!module ? "state without a name" : "work that it leaves to a library"];
      continue;
    }
    all[i].push_back(
        {.proposer = "inductor",
         .strategy = fmt::format("compiled, {} kernel{}", plain.kernels, plain.kernels == 1 ? "" : "s"),
         .plan = plain.plan,
         .source = std::move(*module)});
  }
  return all;
}

std::vector<std::string> InductorProposer::TakeRemarks() {
  std::vector<std::string> remarks;
  for (const auto& [reason, count] : reasons_)
    remarks.push_back(fmt::format("inductor: no candidate for {}: {}",
                                  count == 1 ? "one program" : fmt::format("{} programs", count), reason));
  reasons_.clear();
  return remarks;
}

}  // namespace tritogen
