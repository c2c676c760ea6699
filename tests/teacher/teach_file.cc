// teach_file FILE: reads {"program": …, "reference_source", "entry", "is_function", "strict", "count"} and
// prints
// {"printed": text, "answers": [{"strategy", "plan", "source"}]}. The JSON form of a program is oracle.py's
// own.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "program/canonical.h"
#include "program/print.h"
#include "teach/teacher.h"

namespace tritogen {
namespace {

using nlohmann::json;

Arg ReadArg(const json& j) {
  if (j.is_null()) return Arg{};
  if (j.is_boolean()) return Arg{j.get<bool>()};
  if (j.is_number_integer()) return Arg{j.get<int64_t>()};
  if (j.is_number_float()) return Arg{j.get<double>()};
  if (j.is_string()) return Arg{j.get<std::string>()};
  if (j.is_array()) {
    Arg::List list;
    for (const json& item : j) list.push_back(ReadArg(item));
    return Arg{std::move(list)};
  }
  if (j.contains("float")) return Arg{std::stod(j["float"].get<std::string>())};
  if (j.contains("dtype")) return Arg{DtypeFromName(j["dtype"].get<std::string>()).value()};
  return Arg{NodeRef{j["ref"][0].get<NodeId>(), j["ref"][1].get<int>()}};
}

Program ReadProgram(const json& j) {
  static const std::map<std::string, NodeKind> kinds = {{"input", NodeKind::kInput},
                                                        {"parameter", NodeKind::kParameter},
                                                        {"buffer", NodeKind::kBuffer},
                                                        {"op", NodeKind::kOp}};
  Program program;
  for (const json& n : j["nodes"]) {
    Node node;
    node.kind = kinds.at(n["kind"]);
    node.name = n["name"];
    node.op = n["op"];
    for (const json& arg : n["args"]) node.args.push_back(ReadArg(arg));
    for (const auto& [key, value] : n["kwargs"].items()) node.kwargs.emplace_back(key, ReadArg(value));
    for (const json& shape : n["results"]) {
      node.results.push_back(
          {DtypeFromName(shape[0].get<std::string>()).value(), shape[1].get<std::vector<int64_t>>()});
    }
    program.nodes.push_back(std::move(node));
  }
  for (const json& output : j["outputs"])
    program.outputs.push_back({output[0].get<NodeId>(), output[1].get<int>()});
  program.structure = j["structure"];
  return program;
}

}  // namespace
}  // namespace tritogen

int main(int argc, char** argv) {
  using namespace tritogen;
  if (argc != 2) return 2;
  std::ifstream file(argv[1]);
  json j = json::parse(file);
  Program program = ReadProgram(j["program"]);
  Canonicalise(&program);  // as every recorded program is
  teach::Request request;
  request.program = &program;
  request.reference_source = j["reference_source"];
  request.entry = j["entry"];
  request.is_function = j["is_function"];
  request.strict = j["strict"];
  request.count = j["count"];
  json out = {{"printed", PrintProgram(program)}, {"answers", json::array()}};
  for (const teach::Answer& answer : teach::Teach(request)) {
    out["answers"].push_back(
        {{"strategy", answer.strategy}, {"plan", answer.plan}, {"source", answer.source}});
  }
  std::cout << out << "\n";
}
