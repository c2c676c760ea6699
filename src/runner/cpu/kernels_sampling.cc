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

// First words of Philox4x32-10 with counters (token, draw, 0, 0): at::Philox4_32, many tokens at once.
void Words(uint64_t seed, int32_t draw, int32_t token, int64_t count, uint32_t* out) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t c0 = static_cast<uint32_t>(token) + static_cast<uint32_t>(i), c1 = static_cast<uint32_t>(draw),
             c2 = 0, c3 = 0;
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53} * c0, b = uint64_t{0xCD9E8D57} * c2;
      c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
      c1 = static_cast<uint32_t>(b);
      c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
      c3 = static_cast<uint32_t>(a);
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    out[i] = c0;
  }
}

void NoiseBounds(uint64_t seed, int32_t draw, int32_t token, int64_t count, float* out) {
  constexpr int64_t kPiece = 256;
  uint32_t words[kPiece];
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const int64_t size = begin + kPiece < count ? kPiece : count - begin;
    Words(seed, draw, token + static_cast<int32_t>(begin), size, words);
    for (int64_t i = 0; i < size; ++i) {
      const float v = (static_cast<float>(words[i]) + 0.5f) * 0x1p-32f;
      const float log2 = static_cast<float>(Bits<int32_t>(v)) * 0x1p-23f - 127.0f;
      out[begin + i] = log2 * -0.6931472f + 1e-4f;  // and something for rounding
    }
  }
}

}  // namespace

const SamplingKernels kSampling = {Greatest, Exponentials, SumOf, NoiseBounds};

}  // namespace tritogen::cpu::TRITOGEN_ISA
