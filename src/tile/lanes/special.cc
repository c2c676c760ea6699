#include "tile/lanes/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace tritogen::tile::lanes {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSqrtPi = 1.7724538509055160273;

// One Halley step towards f(x) = 0 for f = ±(erf(x) - y); f'' / f' = -2x. `newton` is f / f'.
double Halley(double x, double newton) {
  return x - newton / (1 + x * newton);
}

// erfc(x) = z for 0 < z ≤ 1/2: a rational start (Abramowitz and Stegun 26.2.23), then steps in relative
// terms.
double ErfcInvTail(double z) {
  const double t = std::sqrt(-2 * std::log(z / 2));
  const double quantile =
      t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  double x = quantile / std::numbers::sqrt2;
  for (int i = 0; i < 3; ++i) {
    // erfc(x) - z over -2/√π exp(-x²), both scaled by exp(x²)
    const double scaled = Erfcx(x) - z * std::exp(x * x);
    x = Halley(x, scaled * (-kSqrtPi / 2));
  }
  return x;
}

// erf(x) = y for |y| ≤ 1/2.
double ErfInvCentre(double y) {
  double x = y * (kSqrtPi / 2) * (1 + y * y * 0.2617993877991494 * (1 + y * y * 0.55));
  for (int i = 0; i < 3; ++i) x = Halley(x, (std::erf(x) - y) * (kSqrtPi / 2) * std::exp(x * x));
  return x;
}

// Σ over k of (x²/4)^k / (k! (k+order)!): all terms positive, so that nothing cancels.
double BesselSeries(double x, int order) {
  const double q = x * x / 4;
  double term = 1, sum = 1;
  for (int k = 1; term > sum * 1e-18; ++k) {
    term *= q / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

// exp(x) / √(2πx) · Σ of the asymptotic series; mu = 4·order². For x ≥ 30 its terms fall below rounding.
double BesselAsymptotic(double x, double mu) {
  double term = 1, sum = 1;
  for (int k = 1; k < 60 && std::abs(term) > 1e-18; ++k) {
    const double odd = 2 * k - 1;
    term *= -(mu - odd * odd) / (k * 8 * x);
    sum += term;
  }
  const double half = std::exp(x / 2);  // in two factors, as exp(x) alone may overflow first
  return half * (sum / std::sqrt(2 * std::numbers::pi * x)) * half;
}

}  // namespace

double ErfInv(double x) {
  if (std::isnan(x) || std::abs(x) > 1) return kNan;
  if (std::abs(x) == 1) return std::copysign(kInf, x);
  if (std::abs(x) <= 0.5) return ErfInvCentre(x);
  return std::copysign(ErfcInvTail(1 - std::abs(x)), x);
}

double ErfcInv(double x) {
  if (std::isnan(x) || x < 0 || x > 2) return kNan;
  if (x == 0 || x == 2) return x == 0 ? kInf : -kInf;
  if (x < 0.5) return ErfcInvTail(x);
  if (x > 1.5) return -ErfcInvTail(2 - x);
  return ErfInvCentre(1 - x);
}

double Erfcx(double x) {
  if (x < 10) {
    const double square = x * x, rest = std::fma(x, x, -square);
    const double scale = std::exp(square);
    return std::isinf(scale) ? scale : scale * (1 + rest) * std::erfc(x);
  }
  if (std::isnan(x)) return x;
  const double q = 1 / (2 * x * x);
  double term = 1, sum = 1;
  for (int k = 1; k < 40 && std::abs(term) > 1e-18; ++k) {
    term *= -(2 * k - 1) * q;
    sum += term;
  }
  return sum / (x * kSqrtPi);
}

double NormCdf(double x) {
  const double t = -x / std::numbers::sqrt2;
  if (!(std::abs(t) < 40)) return 0.5 * std::erfc(t);
  // erfc magnifies what rounding x/√2 lost; that is added back to first order.
  constexpr double kSqrt2Low = -9.667293313452913e-17;  // √2 less its f64
  const double lost = -(std::fma(t, std::numbers::sqrt2, x) + t * kSqrt2Low) / std::numbers::sqrt2;
  return 0.5 * (std::erfc(t) - 2 / kSqrtPi * std::exp(-t * t) * lost);
}

double NormCdfInv(double p) {
  return -std::numbers::sqrt2 * ErfcInv(2 * p);
}

double BesselI0(double x) {
  x = std::abs(x);
  if (std::isinf(x)) return x;
  return x < 30 ? BesselSeries(x, 0) : BesselAsymptotic(x, 0);
}

double BesselI1(double x) {
  const double mag = std::abs(x);
  if (std::isinf(x)) return x;
  return mag < 30 ? x / 2 * BesselSeries(mag, 1) : std::copysign(BesselAsymptotic(mag, 4), x);
}

double SinPi(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x == std::rint(x)) return std::copysign(0.0, x);
  const double halves = std::rint(2 * x), angle = (x - halves / 2) * std::numbers::pi;  // |angle| ≤ π/4
  switch (static_cast<long long>(halves) & 3) {
    case 0:
      return std::sin(angle);
    case 1:
      return std::cos(angle);
    case 2:
      return -std::sin(angle);
    default:
      return -std::cos(angle);
  }
}

double CosPi(double x) {
  if (!std::isfinite(x)) return kNan;
  if (std::abs(x) >= 0x1p53) return 1;  // an even integer
  const double halves = std::rint(2 * x), angle = (x - halves / 2) * std::numbers::pi;
  switch (static_cast<long long>(halves) & 3) {
    case 0:
      return std::cos(angle);
    case 1:
      return 0.0 - std::sin(angle);
    case 2:
      return -std::cos(angle);
    default:
      return 0.0 + std::sin(angle);
  }
}

}  // namespace tritogen::tile::lanes
