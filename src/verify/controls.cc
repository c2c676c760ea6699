#include "verify/controls.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace tritogen {
namespace {

at::Tensor FiniteMean(const at::Tensor& values) {
  const at::Tensor finite = values.isfinite();
  return at::where(finite, values, 0).sum() / finite.sum().clamp_min(1);
}

}  // namespace

std::string_view ControlName(Control control) {
  switch (control) {
    case Control::kZeros:
      return "zeros";
    case Control::kConstant:
      return "its own mean";
    case Control::kRowMean:
      return "the means of its rows";
    case Control::kIdentity:
      return "an input";
    case Control::kStale:
      return "the answer for other inputs";
  }
  TRITOGEN_CHECK(false);
}

std::optional<at::Tensor> ControlOutput(Control control, const Expectation& expected,
                                        const std::vector<at::Tensor>& inputs, const at::Tensor& other) {
  const at::Tensor& exact = expected.exact();
  const bool floating = at::isFloatingType(expected.dtype());
  switch (control) {
    case Control::kZeros:
      return at::zeros_like(exact);
    case Control::kConstant:
      if (exact.numel() < 2) return std::nullopt;  // its mean is the answer itself
      if (!floating) return exact.flatten()[0].expand(exact.sizes());
      return FiniteMean(exact).expand(exact.sizes());
    case Control::kRowMean:
      if (!floating || exact.dim() < 2 || exact.size(-1) < 2 || exact.numel() == exact.size(-1))
        return std::nullopt;
      return exact.mean({-1}, true).expand(exact.sizes());
    case Control::kIdentity:
      for (const at::Tensor& input : inputs) {
        if (input.sizes() == exact.sizes() && at::isFloatingType(input.scalar_type()) == floating) {
          return input.to(exact.scalar_type());
        }
      }
      return std::nullopt;
    case Control::kStale:
      return other;
  }
  return std::nullopt;
}

}  // namespace tritogen
