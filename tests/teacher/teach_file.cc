// The teacher alone. teach_file FILE reads {"program": …, "reference_source", "entry", "is_function",
// "strict", "simple", "lines", "fp32_precision", "count", "seed"} and prints {"printed": text, "answers":
// [{"strategy", "plan", "source"}]}; the JSON form of a program is oracle.py's own, and "text" in its place
// is a printed program. With - for FILE, lines of that kind from standard input become lines.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "program/canonical.h"
#include "program/parse.h"
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

namespace tritogen {
namespace {

json Answer(const json& j) {
  const bool text = j.contains("text");
  Program program = text ? ParseProgram(j["text"].get<std::string>()) : ReadProgram(j["program"]);
  Canonicalise(&program);  // as every recorded program is
  teach::Request request;
  request.program = &program;
  request.reference_source = j.value("reference_source", "");
  request.entry = j.value("entry", "program");
  request.is_function = j.value("is_function", true);
  request.strict = j.value("strict", false);
  request.simple = j.value("simple", false);
  request.lines = j.value("lines", false);
  request.fp32_precision = ParseFp32Precision(j.value("fp32_precision", "ieee")).value();
  request.count = j.value("count", 8);
  request.seed = j.value("seed", uint64_t{0});
  json out = {{"printed", PrintProgram(program)}, {"answers", json::array()}};
  for (const teach::Answer& answer : teach::Teach(request)) {
    out["answers"].push_back(
        {{"strategy", answer.strategy}, {"plan", answer.plan}, {"source", answer.source}});
  }
  return out;
}

}  // namespace
}  // namespace tritogen

int main(int argc, char** argv) {
  using namespace tritogen;
  if (argc != 2) return 2;
  if (std::string(argv[1]) == "-") {
    for (std::string line; std::getline(std::cin, line);) std::cout << Answer(json::parse(line)) << "\n";
    return 0;
  }
  std::ifstream file(argv[1]);
  std::cout << Answer(json::parse(file)) << "\n";
}
