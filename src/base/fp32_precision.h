// What products of float32 matrices, convolutions and recurrent layers may be computed in: PyTorch's
// torch.backends.cuda.matmul.fp32_precision and torch.backends.cudnn.fp32_precision.
#pragma once

#include <optional>
#include <string_view>

namespace tritogen {

enum class Fp32Precision {
  kIeee,     // float32 as IEEE 754 has it
  kPytorch,  // as PyTorch does unless it is told otherwise: cuDNN's calls as kTf32, all others as kIeee
  kTf32,     // tensor cores may cut the factors to the 10 places of TF32's mantissa
};

constexpr std::string_view Name(Fp32Precision precision) {
  switch (precision) {
    case Fp32Precision::kIeee:
      return "ieee";
    case Fp32Precision::kPytorch:
      return "pytorch";
    case Fp32Precision::kTf32:
      break;
  }
  return "tf32";
}

// What eager PyTorch is called under this contract, among times.
constexpr std::string_view EagerName(Fp32Precision precision) {
  switch (precision) {
    case Fp32Precision::kIeee:
      return "eager fp32";
    case Fp32Precision::kPytorch:
      return "eager pytorch";
    case Fp32Precision::kTf32:
      break;
  }
  return "eager tf32";
}

constexpr std::optional<Fp32Precision> ParseFp32Precision(std::string_view name) {
  for (const Fp32Precision precision :
       {Fp32Precision::kIeee, Fp32Precision::kPytorch, Fp32Precision::kTf32}) {
    if (name == Name(precision)) return precision;
  }
  return std::nullopt;
}

// By name, with or without overload: "aten::conv2d".
constexpr bool IsConvolution(std::string_view op) {
  return (op.starts_with("aten::conv") && !op.starts_with("aten::conv_tbc")) ||
         op.starts_with("aten::_convolution");
}

// A whole layer, not a cell.
constexpr bool IsRecurrent(std::string_view op) {
  const std::string_view name = op.substr(0, op.find('.'));
  return name == "aten::lstm" || name == "aten::gru" || name == "aten::rnn_tanh" || name == "aten::rnn_relu";
}

// What PyTorch leaves to cuDNN.
constexpr bool IsOfCudnn(std::string_view op) {
  return IsConvolution(op) || IsRecurrent(op);
}

// Whether what the call multiplies may be cut.
constexpr bool AllowsTf32(Fp32Precision precision, std::string_view op) {
  return precision == Fp32Precision::kTf32 || (precision == Fp32Precision::kPytorch && IsOfCudnn(op));
}

}  // namespace tritogen
