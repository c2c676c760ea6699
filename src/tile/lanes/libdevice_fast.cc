// The GPU's approximate forms of float32 functions. They are off by as much as CUDA's programming guide
// documents (C++ language extensions, intrinsic functions), up or down by what the operand's bits say: a
// program that is right with exact ones alone is not right on a GPU.
#include <bit>
#include <cmath>
#include <numbers>

#include "base/splitmix.h"
#include "tile/lanes/libdevice.h"

namespace tritogen::tile::lanes {
namespace {

// In [-1, 1), the same for the same operand.
double Draw(float x) {
  return std::ldexp(static_cast<double>(SplitMix::At(std::bit_cast<uint32_t>(x), 0) >> 11), -52) - 1;
}

// `exact` off by so many units in its last place at the most.
float OffByUnits(double exact, double units, double draw) {
  const auto nearest = static_cast<float>(exact);
  if (!std::isfinite(nearest) || nearest == 0) return nearest;
  const float size = std::fabs(nearest);
  return static_cast<float>(exact + draw * units * (std::nextafter(size, INFINITY) - size));
}

float Off(double exact, double most, double draw) {
  return static_cast<float>(exact + draw * most);
}

// Near 1 logarithms are off by an absolute error, elsewhere by units; that of 1 is 0.
float FastLog(float x, double exact, double most_near_one, double units) {
  if (exact == 0) return 0;
  return x >= 0.5f && x <= 2 ? Off(exact, most_near_one, Draw(x)) : OffByUnits(exact, units, Draw(x));
}

float FastExp(float x, double exact, double units_of_one) {
  if (x == 0) return 1;
  return OffByUnits(exact, 2 + std::floor(units_of_one * std::fabs(x)), Draw(x));
}

// The operand in turns is rounded to float32 before whole ones are left out, so the error grows with it.
double PartOfTurn(float x) {
  const float turns = x * static_cast<float>(0.5 * std::numbers::inv_pi);
  return 2 * std::numbers::pi * (double{turns} - std::nearbyint(double{turns}));
}

float FastSin(float x) {
  return x == 0 ? x : Off(std::sin(PartOfTurn(x)), std::exp2(-21.41), Draw(x));
}

float FastCos(float x) {
  return x == 0 ? 1 : Off(std::cos(PartOfTurn(x)), std::exp2(-21.19), Draw(x));
}

float FastDivide(float x, float y) {
  const float size = std::fabs(y);
  if (size > 0x1p126f && std::isfinite(y)) return x * 0.0f;  // 0 there, NaN for infinite x
  return OffByUnits(double{x} / double{y}, 2, Draw(x) * Draw(y));
}

float FastLog2(float x) {
  return FastLog(x, std::log2(double{x}), std::exp2(-22.0), 2);
}

float FastPow(float x, float y) {
  const float exponent = y * FastLog2(x);
  return exponent == 0 ? 1 : OffByUnits(std::exp2(double{exponent}), 2, Draw(exponent));
}

}  // namespace

void AddFastExterns(ExternRegistry& registry) {
  Add(registry, "__nv_fast_expf", [](float x) { return FastExp(x, std::exp(double{x}), 1.173); });
  Add(registry, "__nv_fast_exp10f", [](float x) { return FastExp(x, std::pow(10.0, double{x}), 2.97); });
  Add(registry, "__nv_fast_logf",
      [](float x) { return FastLog(x, std::log(double{x}), std::exp2(-21.41), 3); });
  Add(registry, "__nv_fast_log2f", [](float x) { return FastLog2(x); });
  Add(registry, "__nv_fast_log10f",
      [](float x) { return FastLog(x, std::log10(double{x}), std::exp2(-24.0), 3); });
  Add(registry, "__nv_fast_sinf", [](float x) { return FastSin(x); });
  Add(registry, "__nv_fast_cosf", [](float x) { return FastCos(x); });
  Add(registry, "__nv_fast_tanf", [](float x) { return FastDivide(FastSin(x), FastCos(x)); });
  Add(registry, "__nv_fast_powf", [](float x, float y) { return FastPow(x, y); });
  Add(registry, "__nv_fast_fdividef", [](float x, float y) { return FastDivide(x, y); });
}

}  // namespace tritogen::tile::lanes
