#include "runner/cpu/linear.h"

namespace tritogen::cpu::TRITOGEN_ISA {

void Attend(const Attention& attention, Element element);

namespace {

template <typename T>
void Widen(const T* values, int64_t count, float* out) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(out + i, Load(values + i));
  for (; i < count; ++i) out[i] = Load1(values + i);
}

void ToFloat(const void* values, Element element, int64_t count, float* out) {
  switch (element) {
    case Element::kFloat32:
      return Widen(static_cast<const float*>(values), count, out);
    case Element::kBFloat16:
      return Widen(static_cast<const BFloat16*>(values), count, out);
    case Element::kFloat16:
      return Widen(static_cast<const Float16*>(values), count, out);
    case Element::kInt8:
      return Widen(static_cast<const int8_t*>(values), count, out);
  }
}

void RmsNorm(const float* x, const float* weight, float eps, int64_t count, float* out) {
  Vec squares = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) squares += Load(x + i) * Load(x + i);
  float sum = Sum(squares);
  for (int64_t k = i; k < count; ++k) sum += x[k] * x[k];
  const float scale = 1 / __builtin_sqrtf(sum / static_cast<float>(count) + eps);
  for (i = 0; i < count; ++i) out[i] = x[i] * scale * weight[i];
}

void Rotate(float* x, const float* cos, const float* sin, int64_t half, float scale) {
  float *first = x, *second = x + half;
  for (int64_t i = 0; i < half; ++i) {
    const float a = first[i], b = second[i];
    first[i] = (a * cos[i] - b * sin[i]) * scale;
    second[i] = (b * cos[i] + a * sin[i]) * scale;
  }
}

Vec SiluProduct(Vec gate, Vec up) {
  return gate / (1.0f + Exp(-gate)) * up;
}

void SiluMultiply(const float* gate, const float* up, int64_t count, float* out) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(out + i, SiluProduct(Load(gate + i), Load(up + i)));
  if (i == count) return;
  float rest[3][kLanes] = {};  // the same function for the last ones
  for (int64_t k = i; k < count; ++k) {
    rest[0][k - i] = gate[k];
    rest[1][k - i] = up[k];
  }
  Store(rest[2], SiluProduct(Load(rest[0]), Load(rest[1])));
  for (int64_t k = i; k < count; ++k) out[k] = rest[2][k - i];
}

template <typename T>
void StoreAs(const float* key, const float* value, int64_t head_dim, int64_t token, std::byte* head) {
  T* keys = reinterpret_cast<T*>(head);
  T* values = keys + head_dim * kBlockTokens + token * PaddedDim(head_dim);
  for (int64_t d = 0; d < head_dim; ++d) {
    Store1(keys + d * kBlockTokens + token, key[d]);
    Store1(values + d, value[d]);
  }
}

void StoreKeyValue(const float* key, const float* value, Element element, int64_t head_dim, int64_t token,
                   std::byte* head) {
  if (element == Element::kBFloat16) return StoreAs<BFloat16>(key, value, head_dim, token, head);
  StoreAs<float>(key, value, head_dim, token, head);
}

}  // namespace

const Kernels kKernels = {{ToFloat, RmsNorm, Rotate, SiluMultiply, StoreKeyValue, Attend}, kLinear};

}  // namespace tritogen::cpu::TRITOGEN_ISA
