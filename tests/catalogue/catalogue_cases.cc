// catalogue_cases COUNT SEED: for each signature of each row COUNT random calls, one JSON object a line:
//   {"row", "signature", "schema", "torch", "class",
//    "program": text, "inputs": [{"dtype", "sizes", "low", "high", "nonzero", "below"}],
//    "call": {"op", "args", "kwargs"}, "results": [[dtype, sizes]], "flops", "bytes", "round_trip": bool}
// A signature for which nothing could be drawn has "problem" instead.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "program/draw.h"
#include "program/infer.h"
#include "program/parse.h"
#include "program/print.h"

namespace tritogen {
namespace {

using nlohmann::json;

json ToJson(const Arg& arg) {
  if (const NodeRef* ref = AsRef(arg)) return {{"t", ref->id}};
  if (const auto* dtype = std::get_if<Dtype>(&arg.v)) return {{"dtype", DtypeName(*dtype)}};
  if (const Arg::List* list = AsList(arg)) {
    json items = json::array();
    for (const Arg& item : *list) items.push_back(ToJson(item));
    return items;
  }
  if (const auto* text = std::get_if<std::string>(&arg.v)) return *text;
  if (const auto* flag = std::get_if<bool>(&arg.v)) return *flag;
  if (auto integer = AsInt(arg)) return *integer;
  if (auto number = AsNumber(arg)) return *number;
  return nullptr;
}

json ToJson(const Shape& shape) {
  return {DtypeName(shape.dtype), shape.sizes};
}

// The size below which an index of this operand lies; 0 where it is no index.
int64_t BoundOf(const CallForm& form, const Program& program, const ParamSpec& spec) {
  const std::string& of = spec.index_of.empty() ? spec.class_of : spec.index_of;
  const NodeRef* ref = AsRef(form.args[of]);
  if (ref == nullptr) return 0;
  const auto& sizes = program.nodes[ref->id].results[0].sizes;
  if (!spec.class_of.empty()) return sizes.at(1);
  int64_t dim = AsInt(form.args["dim"]).value_or(form.row->name.starts_with("nll") ? 1 : 0);
  return sizes.at(dim < 0 ? dim + static_cast<int64_t>(sizes.size()) : dim);
}

json InputToJson(const CallForm& form, const Program& program, size_t i) {
  const ParamSpec nothing;
  const ParamSpec& spec = form.operands[i].spec != nullptr ? *form.operands[i].spec : nothing;
  const Shape& shape = program.nodes[i].results[0];
  json input = {{"dtype", DtypeName(shape.dtype)}, {"sizes", shape.sizes}, {"nonzero", spec.nonzero}};
  if (std::isfinite(spec.low_value)) input["low"] = spec.low_value;
  if (std::isfinite(spec.high_value)) input["high"] = spec.high_value;
  if (!spec.index_of.empty() || !spec.class_of.empty()) input["below"] = BoundOf(form, program, spec);
  return input;
}

bool RoundTrips(const Program& program, const std::string& text) {
  const Program read = ParseProgram(text);
  bool same = PrintProgram(read) == text && read.outputs == program.outputs &&
              read.structure == program.structure && read.nodes.size() == program.nodes.size();
  for (size_t i = 0; same && i < read.nodes.size(); ++i) {
    const Node &a = read.nodes[i], &b = program.nodes[i];
    same = a.kind == b.kind && a.op == b.op && a.args == b.args && a.kwargs == b.kwargs &&
           a.results == b.results;
  }
  return same;
}

json CaseToJson(const CallForm& form, const Program& program) {
  const Node& op = program.nodes.back();
  const std::string text = PrintProgram(program);
  const Cost cost = CostOf(program);
  json inputs = json::array(), results = json::array(), args = json::array(), kwargs = json::object();
  for (size_t i = 0; i < form.operands.size(); ++i) inputs.push_back(InputToJson(form, program, i));
  for (const Shape& shape : op.results) results.push_back(ToJson(shape));
  for (const Arg& arg : op.args) args.push_back(ToJson(arg));
  for (const auto& [name, arg] : op.kwargs) kwargs[name] = ToJson(arg);
  json j = {{"program", text},     {"inputs", inputs},
            {"results", results},  {"flops", cost.flops},
            {"bytes", cost.bytes}, {"call", {{"op", op.op}, {"args", args}, {"kwargs", kwargs}}}};
  try {
    j["round_trip"] = RoundTrips(program, text);
  } catch (const FormatError& error) {
    j["round_trip"] = error.what();
  }
  return j;
}

void Write(const OpRow& row, const Signature& signature, int count, SplitMix* random) {
  json head = {{"row", row.name},
               {"signature", signature.name},
               {"schema", signature.schema},
               {"torch", row.torch},
               {"class", ClassName(row.kind)}};
  int made = 0;
  for (int tries = 0; made < count && tries < 50 * count; ++tries) {
    auto form = DrawForm(row, signature, random);
    if (!form) continue;
    auto program = Size(*form, random);
    if (!program) continue;
    json j = CaseToJson(*form, *program);
    j.update(head);
    std::cout << j.dump() << "\n";
    ++made;
  }
  if (made > 0) return;
  head["problem"] = "nothing could be drawn";
  std::cout << head.dump() << "\n";
}

}  // namespace
}  // namespace tritogen

int main(int argc, char** argv) {
  using namespace tritogen;
  if (argc < 3) return 2;
  SplitMix random(std::stoull(argv[2]));
  bool failed = false;
  for (const OpRow& row : Catalogue()) {
    if (argc > 3 && row.name != argv[3]) continue;
    for (const Signature& signature : row.signatures) {
      try {
        Write(row, signature, std::stoi(argv[1]), &random);
      } catch (const InternalError& error) {
        std::cerr << signature.name << ": " << error.what() << "\n";
        failed = true;
      }
    }
  }
  return failed ? 1 : 0;
}
