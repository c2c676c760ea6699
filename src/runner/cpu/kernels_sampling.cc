#include "runner/cpu/isa.h"

namespace tritogen::cpu::TRITOGEN_ISA {
namespace {

float Greatest(const float* x, int64_t count) {
  Vec greatest = All(x[0]), sum = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    greatest = Max(greatest, Load(x + i));
    sum += Load(x + i) * 0.0f;  // NaN when one is NaN or infinite
  }
  float most = x[0];
  for (int lane = 0; lane < kLanes; ++lane) most = greatest[lane] > most ? greatest[lane] : most;
  float rest = Sum(sum);
  for (; i < count; ++i) {
    most = x[i] > most ? x[i] : most;
    rest += x[i] * 0.0f;
  }
  if (rest == rest) return most;
  for (i = 0; i < count; ++i) {
    if (x[i] != x[i]) return x[i];
    most = x[i] > most ? x[i] : most;
  }
  return most;
}

void Exponentials(const float* x, float greatest, int64_t count, float* out) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(out + i, Exp(Load(x + i) - greatest));
  for (; i < count; ++i) out[i] = Exp(All(x[i] - greatest))[0];
}

// In pieces, so that many small numbers are not lost beside their sum.
double SumOf(const float* x, int64_t count) {
  constexpr int64_t kPiece = 2048;
  double sum = 0;
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const int64_t end = begin + kPiece < count ? begin + kPiece : count;
    Vec lanes = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) lanes += Load(x + i);
    sum += Sum(lanes);
    for (; i < end; ++i) sum += x[i];
  }
  return sum;
}

}  // namespace

const SamplingKernels kSampling = {Greatest, Exponentials, SumOf};

}  // namespace tritogen::cpu::TRITOGEN_ISA
