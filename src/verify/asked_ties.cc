#include "verify/asked_ties.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <variant>

#include "verify/local_flow.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

constexpr double kTies[] = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5};

std::set<double> TiesOfQuantized(const AtenStep& step) {
  const Value* value = FindArgument(step, "scale");
  const auto* scale = value == nullptr ? nullptr : std::get_if<double>(&value->v);
  int exponent = 0;
  if (scale == nullptr || std::frexp(*scale, &exponent) != 0.5) return {};
  std::set<double> ties;
  for (const double tie : kTies) ties.insert(tie * *scale);
  return ties;
}

// Places k + 1/2 among `size` elements, of which the middle ones are taken, even and odd k alike. 2^-12 is
// small enough for any size in use, and large enough for float32 to hold all that is made of it.
void AddTiesOfGrid(int64_t size, bool corners, std::set<double>* ties) {
  constexpr int64_t kMost = 3, kFarthest = 512;
  constexpr double kSteps = 0x1p12;
  int64_t even = 0, odd = 0;
  for (int64_t i = 0; i < std::min(size - 1, kFarthest); ++i) {
    const int64_t k = (size - 2) / 2 + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);
    if (k < 0 || k > size - 2) continue;
    const double place = static_cast<double>(k) + 0.5, count = static_cast<double>(size);
    const double grid = corners ? 2 * place / (count - 1) - 1 : (2 * place + 1) / count - 1;
    int64_t& taken = k % 2 == 0 ? even : odd;
    if (grid * kSteps != std::floor(grid * kSteps) || taken == kMost) continue;
    ++taken;
    ties->insert(grid);
  }
}

std::set<double> TiesOfGrid(const Plan& plan, const AtenStep& step) {
  constexpr int64_t kNearest = 1;
  const TensorId input = TensorArgument(step, "input");
  const Value *mode = FindArgument(step, "interpolation_mode"),
              *corners = FindArgument(step, "align_corners");
  if (input == kNoTensor || mode == nullptr || corners == nullptr) return {};
  const auto* way = std::get_if<int64_t>(&mode->v);
  const auto* aligned = std::get_if<bool>(&corners->v);
  if (way == nullptr || *way != kNearest || aligned == nullptr) return {};
  std::set<double> ties;
  const auto& sizes = plan.tensors[input].sizes;
  for (size_t dim = 2; dim < sizes.size(); ++dim) {
    AddTiesOfGrid(sizes[dim], *aligned, &ties);
  }
  return ties;
}

}  // namespace

std::set<double> TiesWithin(const Plan& plan, const AtenStep& step) {
  const std::string_view name = OutOfPlaceName(step);
  if (name == "aten::round") return {std::begin(kTies), std::end(kTies)};
  if (name.starts_with("aten::fake_quantize_per_tensor_affine")) return TiesOfQuantized(step);
  if (name == "aten::grid_sampler_2d" || name == "aten::grid_sampler_3d" || name == "aten::grid_sampler")
    return TiesOfGrid(plan, step);
  return {};
}

}  // namespace tritogen
