// Each instruction set's kernels against sums in double precision, and rows alone against rows together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/splitmix.h"
#include "runner/cpu/kernels.h"
#include "runner/sampler.h"

namespace tritogen::cpu {
namespace {

std::vector<Level> Levels() {
  std::vector<Level> levels;
  for (const Level level : {Level::kGeneric, Level::kAvx2, Level::kAvx512, Level::kAvx512Bf16, Level::kAmx}) {
    if (level <= BestLevel()) levels.push_back(level);
  }
  return levels;
}

uint16_t ToBFloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float FromBFloat16(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

// Numbers of [-1, 1] that bfloat16 holds.
std::vector<float> RandomFloats(uint64_t seed, int64_t count) {
  std::vector<float> out(static_cast<size_t>(count));
  SplitMix random(seed);
  for (float& x : out) x = (static_cast<float>(random.Below(257)) - 128) / 128;
  return out;
}

struct OwnMatrix {
  std::vector<float> floats;
  std::vector<uint16_t> halves;
  std::vector<int8_t> bytes;
  std::vector<float> scales, bias;
  std::vector<char> arranged;
  Matrix matrix;

  OwnMatrix(Element element, int64_t out, int64_t in, Level level) {
    floats = RandomFloats(7, out * in);
    bias = RandomFloats(8, out);
    matrix.element = element;
    matrix.out = out;
    matrix.in = in;
    for (float& x : floats) {
      if (element == Element::kFloat16) x /= 8;
      uint16_t half = ToBFloat16(x);
      if (element == Element::kFloat16) {
        const _Float16 value = static_cast<_Float16>(x);
        std::memcpy(&half, &value, 2);
      }
      halves.push_back(half);
      bytes.push_back(static_cast<int8_t>(std::lround(x * 127)));
      if (element == Element::kInt8) x = bytes.back();
    }
    for (int64_t o = 0; o < out; ++o) scales.push_back(0.01f + 1e-4f * static_cast<float>(o));
    matrix.values = element == Element::kFloat32 ? static_cast<const void*>(floats.data())
                    : element == Element::kInt8  ? static_cast<const void*>(bytes.data())
                                                 : halves.data();
    if (element == Element::kInt8) matrix.scales = scales.data();
    matrix.bias = bias.data();
    matrix.kernels = &LinearFor(matrix, level);
    if (matrix.kernels->arrange == nullptr) return;
    arranged.resize(matrix.kernels->arranged_bytes(matrix));
    matrix.kernels->arrange(matrix, arranged.data());
    matrix.values = arranged.data();
  }
};

std::vector<float> Product(const Matrix& m, const float* x, int64_t rows, bool add) {
  std::vector<char> tiles(static_cast<size_t>((rows + kTileRows - 1) / kTileRows) *
                          m.kernels->tile_bytes(m.in));
  for (int64_t row = 0; row < rows; row += kTileRows) {
    m.kernels->pack(x + row * m.in, m.in, std::min(kTileRows, rows - row), rows, m.in,
                    tiles.data() + row / kTileRows * static_cast<int64_t>(m.kernels->tile_bytes(m.in)));
  }
  std::vector<float> y(static_cast<size_t>(rows * m.out), 0.5f);
  const int64_t cut = m.out / 2 / kOutUnit * kOutUnit;
  if (cut > 0) m.kernels->multiply(m, tiles.data(), rows, 0, cut, add, y.data(), m.out);
  m.kernels->multiply(m, tiles.data(), rows, cut, m.out, add, y.data(), m.out);
  return y;
}

TEST(CpuLinear, ProductsOfAnySizeAndElement) {
  for (const Level level : Levels()) {
    for (const Element element : {Element::kFloat32, Element::kBFloat16, Element::kFloat16, Element::kInt8}) {
      for (const auto& [out, in] : {std::pair{96, 64}, {33, 32}, {40, 96}, {7, 5}, {65, 47}, {1, 1}}) {
        const OwnMatrix own(element, out, in, level);
        const int64_t rows = 37;
        const auto x = RandomFloats(3, rows * in);
        for (const bool add : {false, true}) {
          const auto y = Product(own.matrix, x.data(), rows, add);
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t o = 0; o < out; ++o) {
              double sum = 0;
              for (int64_t i = 0; i < in; ++i) {
                sum +=
                    double{x[static_cast<size_t>(r * in + i)]} * own.floats[static_cast<size_t>(o * in + i)];
              }
              if (own.matrix.scales) sum *= own.scales[static_cast<size_t>(o)];
              sum += own.bias[static_cast<size_t>(o)] + (add ? 0.5 : 0);
              ASSERT_NEAR(y[static_cast<size_t>(r * out + o)], sum, 1e-5 * (1 + std::abs(sum)))
                  << static_cast<int>(level) << " " << static_cast<int>(element) << " " << out << "x" << in
                  << " row " << r << " out " << o;
            }
          }
        }
      }
    }
  }
}

TEST(CpuLinear, ARowDoesNotDependOnItsNeighbours) {
  for (const Level level : Levels()) {
    for (const Element element : {Element::kFloat32, Element::kBFloat16, Element::kFloat16, Element::kInt8}) {
      for (const auto& [out, in] : {std::pair{64, 96}, {41, 45}}) {
        const OwnMatrix own(element, out, in, level);
        auto x = RandomFloats(4, 48 * in);
        for (float& value : x) value *= 0.37f;  // sums that are rounded
        const auto together = Product(own.matrix, x.data(), 48, true);
        for (const int64_t rows : {1, 2, 5, 15, 16, 17, 33}) {
          for (const int64_t from : {0, 3, 15}) {
            const auto apart = Product(own.matrix, x.data() + from * in, rows, true);
            ASSERT_EQ(std::memcmp(apart.data(), together.data() + from * out, apart.size() * sizeof(float)),
                      0)
                << static_cast<int>(level) << " " << static_cast<int>(element) << " rows " << rows;
          }
        }
      }
    }
  }
}

TEST(CpuRows, HalvesWidenExactly) {
  for (const Level level : Levels()) {
    std::vector<uint16_t> halves;
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      if ((bits & 0x7c00) != 0x7c00) halves.push_back(static_cast<uint16_t>(bits));  // finite
    }
    std::vector<float> out(halves.size());
    KernelsOf(level).rows.to_float(halves.data(), Element::kFloat16, static_cast<int64_t>(halves.size()),
                                   out.data());
    for (size_t i = 0; i < out.size(); ++i) {
      _Float16 value;
      std::memcpy(&value, &halves[i], 2);
      ASSERT_EQ(out[i], static_cast<float>(value)) << halves[i];
      ASSERT_EQ(std::signbit(out[i]), halves[i] >> 15 != 0);
    }
  }
}

TEST(CpuRows, NormRotationAndSilu) {
  for (const Level level : Levels()) {
    const RowKernels& kernels = KernelsOf(level).rows;
    for (const int64_t n : {1, 6, 16, 45, 128}) {
      const auto x = RandomFloats(1, n), w = RandomFloats(2, n);
      std::vector<float> out(x);
      double squares = 0;
      for (const float v : x) squares += double{v} * v;
      kernels.rms_norm(out.data(), w.data(), 1e-3f, n, out.data());  // in place
      for (size_t i = 0; i < out.size(); ++i) {
        EXPECT_NEAR(out[i], x[i] * w[i] / std::sqrt(squares / static_cast<double>(n) + 1e-3), 2e-6);
      }
      std::vector<float> gate(x);
      for (size_t i = 0; i < gate.size(); ++i) gate[i] *= i % 3 == 0 ? 200 : 9;
      kernels.silu_multiply(gate.data(), w.data(), n, out.data());
      for (size_t i = 0; i < out.size(); ++i) {
        const double expected = gate[i] / (1 + std::exp(-double{gate[i]})) * w[i];
        EXPECT_NEAR(out[i], expected, 1e-6 * std::abs(expected) + 1e-30);
      }
      if (n % 2) continue;
      std::vector<float> turned(x), cos, sin;
      for (int64_t i = 0; i < n / 2; ++i) {
        cos.push_back(std::cos(static_cast<float>(i)));
        sin.push_back(std::sin(static_cast<float>(i)));
      }
      kernels.rotate(turned.data(), cos.data(), sin.data(), n / 2, 0.5f);
      for (size_t i = 0; i < cos.size(); ++i) {
        const double a = x[i], b = x[i + cos.size()];
        EXPECT_NEAR(turned[i], 0.5 * (a * cos[i] - b * sin[i]), 1e-6);
        EXPECT_NEAR(turned[i + cos.size()], 0.5 * (b * cos[i] + a * sin[i]), 1e-6);
      }
    }
  }
}

// A sequence in blocks of a cache whose other places hold NaN.
class CpuAttention : public testing::Test {
 protected:
  void Fill(const RowKernels& kernels, Element element, int64_t head_dim, int64_t positions) {
    dim_ = head_dim;
    block_bytes_ = HeadElements(head_dim) * static_cast<int64_t>(ElementBytes(element)) + 64;
    const int64_t blocks = (positions + kBlockTokens - 1) / kBlockTokens;
    cache_.assign(static_cast<size_t>(2 * blocks * block_bytes_), std::byte{0xff});
    blocks_.clear();
    for (int64_t i = 0; i < blocks; ++i) blocks_.push_back(static_cast<int32_t>(2 * blocks - 1 - 2 * i));
    keys_ = RandomFloats(1, positions * head_dim);
    values_ = RandomFloats(2, positions * head_dim);
    for (int64_t p = 0; p < positions; ++p) {
      kernels.store(keys_.data() + p * head_dim, values_.data() + p * head_dim, element, head_dim,
                    p % kBlockTokens,
                    cache_.data() + blocks_[static_cast<size_t>(p / kBlockTokens)] * block_bytes_);
    }
  }
  std::vector<float> Attend(const RowKernels& kernels, Element element, int64_t group, int64_t positions,
                            const std::vector<float>& queries) {
    std::vector<float> scores(static_cast<size_t>(group * (positions + kBlockTokens))), out(queries.size());
    kernels.attend({queries.data(), group, dim_, cache_.data(), block_bytes_, blocks_.data(), positions,
                    scores.data(), out.data()},
                   element);
    return out;
  }
  double Expected(const float* query, int64_t positions, int64_t d) const {
    std::vector<double> weights;
    double sum = 0, out = 0;
    for (int64_t p = 0; p < positions; ++p) {
      double score = 0;
      for (int64_t i = 0; i < dim_; ++i) score += double{query[i]} * keys_[static_cast<size_t>(p * dim_ + i)];
      weights.push_back(std::exp(score));
      sum += weights.back();
    }
    for (int64_t p = 0; p < positions; ++p) {
      out += weights[static_cast<size_t>(p)] / sum * values_[static_cast<size_t>(p * dim_ + d)];
    }
    return out;
  }
  int64_t dim_ = 0, block_bytes_ = 0;
  std::vector<std::byte> cache_;
  std::vector<int32_t> blocks_;
  std::vector<float> keys_, values_;
};

TEST_F(CpuAttention, IsSoftmaxOverThePositionsSoFar) {
  for (const Level level : Levels()) {
    const RowKernels& kernels = KernelsOf(level).rows;
    for (const Element element : {Element::kFloat32, Element::kBFloat16}) {
      for (const int64_t dim : {2, 10, 16, 40, 64, 80}) {
        Fill(kernels, element, dim, 75);
        for (const int64_t group : {1, 2, 3, 4, 7}) {
          auto queries = RandomFloats(3, group * dim);
          for (float& q : queries) q *= 2;
          for (const int64_t positions : {1, 15, 16, 17, 75}) {
            const auto out = Attend(kernels, element, group, positions, queries);
            for (int64_t i = 0; i < group * dim; ++i) {
              ASSERT_NEAR(out[static_cast<size_t>(i)],
                          Expected(queries.data() + i / dim * dim, positions, i % dim), 3e-6)
                  << static_cast<int>(level) << " dim " << dim << " group " << group << " positions "
                  << positions;
            }
          }
        }
      }
    }
  }
}

TEST_F(CpuAttention, NanIsNotLost) {
  for (const Level level : Levels()) {
    const RowKernels& kernels = KernelsOf(level).rows;
    Fill(kernels, Element::kFloat32, 16, 20);
    std::vector<float> queries = RandomFloats(3, 5 * 16);
    queries[2 * 16 + 3] = NAN;
    const auto out = Attend(kernels, Element::kFloat32, 5, 20, queries);
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / 16 == 2);
    const float nan = NAN, one = 1;
    float product = 0;
    kernels.silu_multiply(&nan, &one, 1, &product);
    EXPECT_TRUE(std::isnan(product));
  }
}

TEST(CpuCache, NumbersAreRoundedToTheNearest) {
  for (const Level level : Levels()) {
    SplitMix random(5);
    for (int i = 0; i < 1000; ++i) {
      const uint32_t bits = static_cast<uint32_t>(random.Next());
      float key[2];
      std::memcpy(key, &bits, 4);
      if (!std::isfinite(key[0])) continue;
      key[1] = NAN;
      std::vector<uint16_t> head(static_cast<size_t>(HeadElements(2)));
      KernelsOf(level).rows.store(key, key, Element::kBFloat16, 2, 0,
                                  reinterpret_cast<std::byte*>(head.data()));
      EXPECT_EQ(head[0], ToBFloat16(key[0]));
      EXPECT_TRUE(std::isnan(FromBFloat16(head[kBlockTokens])));
    }
  }
}

TEST(CpuSampling, SumsOfExponentialsAndTheGreatest) {
  for (const Level level : Levels()) {
    const SamplingKernels& kernels = KernelsOf(level).sampling;
    for (const int64_t n : {1, 5, 16, 1000, 5003}) {
      auto x = RandomFloats(6, n);
      for (float& v : x) v *= 30;
      const float greatest = kernels.greatest(x.data(), n);
      EXPECT_EQ(greatest, *std::max_element(x.begin(), x.end()));
      std::vector<float> out(x.size());
      kernels.exponentials(x.data(), greatest, n, out.data());
      double expected = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(out[i], std::exp(double{x[i]} - greatest), 3e-7 * out[i]);
        expected += out[i];
      }
      EXPECT_NEAR(kernels.sum(out.data(), n), expected, 1e-6 * expected);
      x[x.size() / 2] = -HUGE_VALF;
      EXPECT_EQ(kernels.greatest(x.data(), n), *std::max_element(x.begin(), x.end()));
      x[x.size() / 3] = NAN;
      EXPECT_TRUE(std::isnan(kernels.greatest(x.data(), n)));
    }
  }
}

}  // namespace
}  // namespace tritogen::cpu
