#include "propose/constant_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "program/literal.h"

namespace tritogen {
namespace {

// One value of a constant as Python writes it; nothing for types without literals.
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
    case Dtype::kFloat16:
      return PythonLiteral(Arg{static_cast<double>(read(_Float16{}))});
    case Dtype::kBFloat16:  // the upper half of a float32
      return PythonLiteral(Arg{static_cast<double>(std::bit_cast<float>(uint32_t{read(uint16_t{})} << 16))});
    case Dtype::kFloat32:
      return PythonLiteral(Arg{static_cast<double>(read(float{}))});
    case Dtype::kFloat64:
      return PythonLiteral(Arg{read(double{})});
    default:
      return std::nullopt;
  }
}

// The elements as literals; nothing where they are too many to be read by anybody, or have none.
std::optional<std::string> Literals(const std::vector<uint8_t>& bytes, const TensorMeta& meta) {
  constexpr int64_t kMost = 4096;
  if (meta.numel() > kMost) return std::nullopt;
  std::vector<std::string> elements;
  for (int64_t i = 0; i < meta.numel(); ++i) {
    auto text = ElementText(bytes.data() + i * DtypeSize(meta.dtype), meta.dtype);
    if (!text) return std::nullopt;
    elements.push_back(*text);
  }
  return fmt::format("torch.tensor([{}], dtype=torch.{})", fmt::join(elements, ", "), DtypeName(meta.dtype));
}

// The expression that makes a constant; nothing where it is too long for a file.
std::optional<std::string> ConstantText(const Plan& plan, const ConstantStep& step) {
  constexpr size_t kMostBytes = 1 << 20;
  const TensorMeta& meta = plan.tensors[step.out];
  std::optional<std::string> text = Literals(step.data, meta);
  if (!text && step.data.size() <= kMostBytes && !step.data.empty())
    text = PythonTensor(step.data, meta.dtype);
  if (text) text = fmt::format("{}.view([{}])", *text, fmt::join(meta.sizes, ", "));
  return text;
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
