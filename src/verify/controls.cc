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
    case Control::kZeros: return "zeros";
    case Control::kConstant: return "its own mean";
    case Control::kRowMean: return "the means of its rows";
    case Control::kIdentity: return "an input";
    case Control::kStale: return "the answer for other inputs";
    case Control::kHalf: return "the answer in half precision";
  }
  TRITOGEN_CHECK(false);
}

std::optional<at::Tensor> ControlOutput(Control control, const ControlView& view) {
  const at::Tensor& exact = view.expected.exact();
  const bool floating = at::isFloatingType(view.expected.dtype());
  switch (control) {
    case Control::kZeros: return at::zeros_like(exact);
    case Control::kConstant:
      if (exact.numel() < 2) return std::nullopt;  // its mean is the answer itself
      if (!floating) return exact.flatten()[0].expand(exact.sizes());
      return FiniteMean(exact).expand(exact.sizes());
    case Control::kRowMean:
      if (!floating || exact.dim() < 2 || exact.size(-1) < 2 || exact.numel() == exact.size(-1)) return std::nullopt;
      return exact.mean({-1}, true).expand(exact.sizes());
    case Control::kIdentity:
      for (const at::Tensor& input : view.inputs) {
        if (input.sizes() == exact.sizes() && at::isFloatingType(input.scalar_type()) == floating) {
          return floating ? input : input.to(exact.scalar_type());
        }
      }
      return std::nullopt;
    case Control::kStale:
      if (view.other == nullptr) return std::nullopt;
      return *view.other;
    case Control::kHalf:
      if (view.half == nullptr || !view.half->defined()) return std::nullopt;
      return *view.half;
  }
  return std::nullopt;
}

}  // namespace tritogen
