#include "propose/constant_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "program/literal.h"

namespace tritogen {
namespace {

// One value of a constant as Python writes it; nothing for the 8-bit formats.
std::optional<std::string> ElementText(const uint8_t* data, Dtype dtype) {
  auto read = [data]<typename T>(T value) {
    std::memcpy(&value, data, sizeof(T));
    return value;
  };
  switch (dtype) {
    case Dtype::kBool:
      return *data != 0 ? "True" : "False";
    case Dtype::kUint8:
      return fmt::format("{}", *data);
    case Dtype::kInt8:
      return fmt::format("{}", read(int8_t{}));
    case Dtype::kInt16:
      return fmt::format("{}", read(int16_t{}));
    case Dtype::kInt32:
      return fmt::format("{}", read(int32_t{}));
    case Dtype::kInt64:
      return fmt::format("{}", read(int64_t{}));
    case Dtype::kFloat32:
      return PythonLiteral(Arg{static_cast<double>(read(float{}))});
    case Dtype::kFloat64:
      return PythonLiteral(Arg{read(double{})});
    default:
      return std::nullopt;
  }
}

// torch.tensor(…) of a constant; nothing where it is too long to write down.
std::optional<std::string> ConstantText(const Plan& plan, const ConstantStep& step) {
  constexpr int64_t kLongest = 4096;
  const TensorMeta& meta = plan.tensors[step.out];
  if (meta.numel() > kLongest) return std::nullopt;
  std::vector<std::string> elements;
  for (int64_t i = 0; i < meta.numel(); ++i) {
    auto text = ElementText(step.data.data() + i * DtypeSize(meta.dtype), meta.dtype);
    if (!text) return std::nullopt;
    elements.push_back(*text);
  }
  return fmt::format("torch.tensor([{}], dtype=torch.{}).view([{}])", fmt::join(elements, ", "),
                     DtypeName(meta.dtype), fmt::join(meta.sizes, ", "));
}

}  // namespace

std::map<NodeId, std::string> ConstantTexts(const Plan& plan, const Program& program) {
  std::unordered_map<std::string, const ConstantStep*> by_name;
  for (const auto* steps : {&plan.generate, &plan.setup, &plan.run}) {
    for (const Step& step : *steps) {
      if (const auto* constant = std::get_if<ConstantStep>(&step)) {
        by_name[fmt::format("constant_{}", constant->out)] = constant;
      }
    }
  }
  std::map<NodeId, std::string> texts;
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes.size()); ++id) {
    auto found = by_name.find(program.nodes[id].name);
    if (program.nodes[id].kind != NodeKind::kConstant || found == by_name.end()) continue;
    if (auto text = ConstantText(plan, *found->second)) texts[id] = *text;
  }
  return texts;
}

}  // namespace tritogen
