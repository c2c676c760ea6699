#include "synth/record.h"

#include <cmath>

namespace tritogen::synth {
namespace {

nlohmann::ordered_json ShapeJson(const Shape& shape) {
  return {{"dtype", DtypeName(shape.dtype)}, {"shape", shape.sizes}};
}

}  // namespace

nlohmann::ordered_json ToJson(const Sample& sample) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array(), outputs = inputs;
  const Program& program = sample.sized.program;
  for (size_t i = 0; i < sample.sized.inputs.size(); ++i) {
    const SizedProgram::Values& values = sample.sized.inputs[i];
    nlohmann::ordered_json input = ShapeJson(program.nodes[i].results[0]);
    if (std::isfinite(values.low)) input["low"] = values.low;
    if (std::isfinite(values.high)) input[values.indices ? "below" : "high"] = values.high;
    if (values.nonzero) input["nonzero"] = true;
    inputs.push_back(std::move(input));
  }
  for (NodeRef ref : program.outputs) outputs.push_back(ShapeJson(program.nodes[ref.id].results[ref.result]));
  return {{"program", sample.text},
          {"level", sample.operators.size()},
          {"ops", sample.operators},
          {"inputs", inputs},
          {"outputs", outputs},
          {"flops", sample.sized.flops},
          {"bytes", sample.sized.bytes},
          {"index", sample.index.ToString()},
          {"count", sample.count.ToString()},
          {"count_exact", sample.exact},
          {"fingerprint", sample.fingerprint},
          {"graph_fingerprint", sample.graph_fingerprint}};
}

}  // namespace tritogen::synth
