#include "synth/record.h"

#include <charconv>
#include <cmath>

namespace tritogen::synth {
namespace {

nlohmann::ordered_json ShapeJson(const Shape& shape) {
  return {{"dtype", DtypeName(shape.dtype)}, {"shape", shape.sizes}};
}

// Text of our own: ASCII without control characters but for line breaks.
void AppendString(std::string_view text, std::string* line) {
  *line += '"';
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '"' && c != '\\' && c != '\n') continue;
    line->append(text.substr(done, i - done));
    *line += '\\';
    *line += c == '\n' ? 'n' : c;
    done = i + 1;
  }
  line->append(text.substr(done));
  *line += '"';
}

void AppendInteger(int64_t value, std::string* line) {
  char digits[24];
  line->append(digits, std::to_chars(digits, std::end(digits), value).ptr);
}

void AppendNumber(double value, std::string* line) {
  // The library writes whole numbers of up to 15 digits so.
  if (std::abs(value) < 1e15 && value == std::floor(value) && !(value == 0 && std::signbit(value))) {
    AppendInteger(static_cast<int64_t>(value), line);
    *line += ".0";
  } else {
    *line += nlohmann::json(value).dump();
  }
}

void AppendKey(std::string_view key, std::string* line) {
  if (line->back() != '{') *line += ',';
  *line += '"';
  *line += key;
  *line += "\":";
}

// '{"dtype":"float32","shape":[4,8]', to be closed.
void AppendShape(const Shape& shape, std::string* line) {
  if (line->back() != '[') *line += ',';
  *line += "{\"dtype\":\"";
  *line += DtypeName(shape.dtype);
  *line += "\",\"shape\":[";
  for (size_t i = 0; i < shape.sizes.size(); ++i) {
    if (i > 0) *line += ',';
    AppendInteger(shape.sizes[i], line);
  }
  *line += ']';
}

void AppendInputs(const Sample& sample, std::string* line) {
  *line += '[';
  for (size_t i = 0; i < sample.sized.inputs.size(); ++i) {
    const SizedProgram::Values& values = sample.sized.inputs[i];
    AppendShape(sample.sized.program.nodes[i].results[0], line);
    if (std::isfinite(values.low)) AppendKey("low", line), AppendNumber(values.low, line);
    if (std::isfinite(values.high))
      AppendKey(values.indices ? "below" : "high", line), AppendNumber(values.high, line);
    if (values.nonzero) AppendKey("nonzero", line), *line += "true";
    *line += '}';
  }
  *line += ']';
}

}  // namespace

std::string JsonLine(const Sample& sample) {
  std::string line = "{";
  line.reserve(2 * sample.text.size() + 512);
  const auto key = [&](std::string_view name) { AppendKey(name, &line); };
  key("program"), AppendString(sample.text, &line);
  key("level"), AppendInteger(static_cast<int64_t>(sample.operators.size()), &line);
  key("ops"), line += '[';
  for (size_t i = 0; i < sample.operators.size(); ++i) {
    if (i > 0) line += ',';
    AppendString(sample.operators[i], &line);
  }
  line += ']';
  key("inputs"), AppendInputs(sample, &line);
  key("outputs"), line += '[';
  const Program& program = sample.sized.program;
  for (NodeRef ref : program.outputs)
    AppendShape(program.nodes[ref.id].results[ref.result], &line), line += '}';
  line += ']';
  key("flops"), AppendNumber(sample.sized.flops, &line);
  key("bytes"), AppendNumber(sample.sized.bytes, &line);
  key("index"), AppendString(sample.index.ToString(), &line);
  key("count"), AppendString(sample.count.ToString(), &line);
  key("count_exact"), line += sample.exact ? "true" : "false";
  key("fingerprint"), AppendString(sample.fingerprint, &line);
  key("graph_fingerprint"), AppendString(sample.graph_fingerprint, &line);
  return line += "}\n";
}

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
