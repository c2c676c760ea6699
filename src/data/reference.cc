#include "data/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "program/print.h"

namespace tritogen::data {
namespace {

constexpr double kSpan = 4;  // width of a range that is open on one side

// Uniform in [low, high); both are finite.
std::string Uniform(const std::string& sizes, double low, double high) {
  std::string text = fmt::format("torch.rand({})", sizes);
  if (high - low != 1) text += fmt::format(" * {}", high - low);
  if (low != 0) text += low < 0 ? fmt::format(" - {}", -low) : fmt::format(" + {}", low);
  return text;
}

std::string FloatInput(const std::string& sizes, const synth::SizedProgram::Values& may) {
  const bool open_below = !std::isfinite(may.low), open_above = !std::isfinite(may.high);
  if (may.nonzero) {
    // Away from zero on both sides where both are allowed.
    const double low = open_below ? -kSpan : may.low, high = open_above ? kSpan : may.high;
    if (low >= 0) return Uniform(sizes, std::max(low, 0.125), std::max(high, 0.25));
    return fmt::format("torch.sign(torch.rand({0}) - 0.5) * (torch.rand({0}) + 0.5)", sizes);
  }
  if (open_below && open_above) return fmt::format("torch.randn({})", sizes);
  const double low = open_below ? may.high - kSpan : may.low;
  const double high = open_above ? std::max(low + kSpan, 2.0) : may.high;
  return Uniform(sizes, low, high);
}

std::string InputText(const Shape& shape, const synth::SizedProgram::Values& may) {
  const std::string sizes = shape.sizes.empty() ? "()" : fmt::format("{}", fmt::join(shape.sizes, ", "));
  const std::string tuple =
      fmt::format("({}{})", fmt::join(shape.sizes, ", "), shape.sizes.size() == 1 ? "," : "");
  if (shape.dtype == Dtype::kBool) return fmt::format("torch.randint(0, 2, {}, dtype=torch.bool)", tuple);
  if (IsFloating(shape.dtype)) {
    const std::string text = FloatInput(sizes, may);
    return shape.dtype == Dtype::kFloat32 ? text
                                          : fmt::format("({}).to(torch.{})", text, DtypeName(shape.dtype));
  }
  const auto bound = [](double value, double open) {
    return static_cast<int64_t>(std::isfinite(value) ? value : open);
  };
  const int64_t low = bound(may.low, -8);
  const int64_t past = may.indices ? bound(may.high, 1) : bound(may.high, 8) + 1;  // indices stay below high
  const std::string dtype =
      shape.dtype == Dtype::kInt64 ? "" : fmt::format(", dtype=torch.{}", DtypeName(shape.dtype));
  return fmt::format("torch.randint({}, {}, {}{})", low, std::max(past, low + 1), tuple, dtype);
}

}  // namespace

std::string ReferenceFile(const synth::SizedProgram& sized, std::string_view text) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < sized.inputs.size(); ++i)
    inputs.push_back(InputText(sized.program.nodes[i].results[0], sized.inputs[i]));
  return ModelFile(text, inputs);
}

}  // namespace tritogen::data
