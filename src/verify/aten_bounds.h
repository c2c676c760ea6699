// What some of PyTorch's operators take on trust. On a CPU they read or write beyond their arguments where
// sizes, or numbers among them, do not fit together. The recorder's tensors would often not let such a call
// pass, but a Plan may have been written by anybody, and what it runs in also holds what is expected. On a
// GPU some numbers are answered by an assertion that ends the context, and with it the judge.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <string_view>

namespace tritogen {

// Throws ArgumentError where the arguments, in schema order, do not fit together.
using BoundsCheck = void (*)(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments);

// `op`: "aten::name", without overload. Null: PyTorch looks for itself.
BoundsCheck BoundsCheckOf(std::string_view op);

// Of a GPU's operators. Waits for the GPU.
BoundsCheck TrapCheckOf(std::string_view op);

}  // namespace tritogen
