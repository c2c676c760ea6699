// What products of float32 matrices, and convolutions, may be computed in: PyTorch's
// torch.backends.cuda.matmul.fp32_precision and torch.backends.cudnn.conv.fp32_precision.
#pragma once

#include <optional>
#include <string_view>

namespace tritogen {

enum class Fp32Precision {
  kIeee,  // float32 as IEEE 754 has it
  kTf32,  // tensor cores may cut the factors to the 10 places of TF32's mantissa
};

constexpr std::string_view Name(Fp32Precision precision) {
  return precision == Fp32Precision::kTf32 ? "tf32" : "ieee";
}

constexpr std::optional<Fp32Precision> ParseFp32Precision(std::string_view name) {
  for (const Fp32Precision precision : {Fp32Precision::kIeee, Fp32Precision::kTf32}) {
    if (name == Name(precision)) return precision;
  }
  return std::nullopt;
}

}  // namespace tritogen
