// libdevice: coverage of Triton's list, and values against definitions, identities and known points.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "tile/lanes_test_util.h"

namespace tritogen::tile::lanes {
namespace {

Elem ElemNamed(const std::string& name) {
  if (name == "f32") return Elem::kF32;
  if (name == "f64") return Elem::kF64;
  return name == "i32" ? Elem::kI32 : Elem::kI64;
}

TEST(LanesExtern, CoversTritonsLibdevice) {
  std::ifstream list(TRITOGEN_SOURCE_DIR "/tests/cases/libdevice_symbols.txt");
  int count = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string symbol, word;
    words >> symbol;
    const ExternFn function = FindExtern(symbol);
    ASSERT_TRUE(function) << symbol;
    int arity = 0;
    for (; words >> word && word != "->"; ++arity)
      EXPECT_EQ(function.operand[arity], ElemNamed(word)) << symbol;
    words >> word;
    EXPECT_EQ(function.arity, arity) << symbol;
    EXPECT_EQ(function.result, ElemNamed(word)) << symbol;
    ++count;
  }
  EXPECT_EQ(count, 313);
  EXPECT_FALSE(FindExtern("__nv_no_such_function"));
}

template <class R, class... Args>
R Call(std::string_view symbol, Args... args) {
  const ExternFn function = FindExtern(symbol);
  const void* operands[] = {&args...};
  R result{};
  EXPECT_TRUE(function) << symbol;
  if (function) function.call(operands, &result, 1);
  return result;
}

// Vector forms against the plain ones, over edges and random lanes.
TEST(LanesExtern, VectorFormsMatchThePlainOnes) {
  constexpr size_t kLanes = 4001;
  std::ifstream list(TRITOGEN_SOURCE_DIR "/tests/cases/libdevice_symbols.txt");
  for (std::string line; std::getline(list, line);) {
    const std::string symbol = line.substr(0, line.find(' '));
    const ExternFn plain = FindExtern(symbol, Isa::kGeneric);
    if (!plain) continue;
    std::vector<Array> operands;
    const void* pointers[kMaxExternArity];
    for (int i = 0; i < plain.arity; ++i) operands.push_back(RandomArray(plain.operand[i], kLanes, 70 + i));
    for (int i = 0; i < plain.arity; ++i) pointers[i] = operands[i].data();
    // Orders of Bessel functions cost their size in steps.
    if (plain.arity == 2 && plain.operand[0] == Elem::kI32 && plain.operand[1] != Elem::kI32) {
      for (size_t i = 0; i < kLanes; ++i) operands[0].Set(i, operands[0].Get(i) % 50);
    }
    Array expected(plain.result, kLanes), out(plain.result, kLanes);
    plain.call(pointers, expected.data(), kLanes);
    for (Isa isa : AllIsas()) {
      const ExternFn fast = FindExtern(symbol, isa);
      if (fast.call == plain.call) continue;
      fast.call(pointers, out.data(), kLanes);
      const int64_t at = FirstDifference(expected, out, 5);
      EXPECT_EQ(at, -1) << symbol << " isa " << static_cast<int>(isa) << " of "
                        << (at < 0 ? 0 : operands[0].Float(at));
    }
  }
}

// f(x) has to bracket the exact result: checked with the directed twins and with f64 (80 bits for f64)
// arithmetic.
TEST(LanesExtern, RoundingModes) {
  const Array a = RandomArray(Elem::kF32, 5000, 80), b = RandomArray(Elem::kF32, 5000, 81);
  const std::pair<const char*, std::function<double(double, double)>> operations[] = {
      {"__nv_fmul", [](double x, double y) { return x * y; }},  // exact in f64
      {"__nv_fdiv", [](double x, double y) { return x / y; }}};
  for (const auto& [name, exact] : operations) {
    const bool product = std::string(name) == "__nv_fmul";
    for (size_t i = 0; i < a.size(); ++i) {
      const float x = static_cast<float>(a.Float(i)), y = static_cast<float>(b.Float(i));
      const float down = Call<float>(std::string(name) + "_rd", x, y),
                  up = Call<float>(std::string(name) + "_ru", x, y);
      const float zero = Call<float>(std::string(name) + "_rz", x, y),
                  nearest = Call<float>(std::string(name) + "_rn", x, y);
      const double value = exact(x, y);
      ASSERT_EQ(std::isnan(value), std::isnan(down)) << name;
      if (std::isnan(value)) continue;
      ASSERT_EQ(UlpDistance(Elem::kF32, std::bit_cast<uint32_t>(zero),
                            std::bit_cast<uint32_t>(value < 0 ? up : down)),
                0u);
      ASSERT_TRUE(nearest == down || nearest == up) << name << " " << x << " " << y;
      if (!product) continue;
      ASSERT_LE(down, value) << x << " * " << y;
      ASSERT_GE(up, value) << x << " * " << y;
      if (down != up) {
        ASSERT_EQ(std::nextafterf(down, INFINITY), up);
      } else {
        ASSERT_EQ(down, value);
      }
    }
  }
}

TEST(LanesExtern, RoundingModesOfKnownCases) {
  EXPECT_EQ(Call<float>("__nv_fadd_ru", 1.0f, 1e-30f), std::nextafterf(1, 2));
  EXPECT_EQ(Call<float>("__nv_fadd_rd", 1.0f, -1e-30f), std::nextafterf(1, 0));
  EXPECT_EQ(Call<float>("__nv_fadd_rz", -1.0f, 1e-30f), std::nextafterf(-1, 0));
  EXPECT_EQ(Call<double>("__nv_dadd_ru", 1.0, 1e-300), std::nextafter(1, 2));
  EXPECT_EQ(Call<double>("__nv_dmul_rz", 1 + 0x1p-52, 1 + 0x1p-52), 1 + 0x1p-51);
  EXPECT_EQ(Call<double>("__nv_dmul_ru", 1 + 0x1p-52, 1 + 0x1p-52), 1 + 0x1p-51 + 0x1p-52);
  EXPECT_EQ(Call<double>("__nv_ddiv_rd", 1.0, 3.0), 1.0 / 3);
  EXPECT_EQ(Call<double>("__nv_ddiv_ru", 1.0, 3.0), std::nextafter(1.0 / 3, 1));
  EXPECT_EQ(Call<float>("__nv_fsqrt_rd", 2.0f), 0x1.6a09e6p+0f);
  EXPECT_EQ(Call<float>("__nv_fsqrt_ru", 2.0f), 0x1.6a09e8p+0f);
  EXPECT_EQ(Call<float>("__nv_frcp_ru", 3.0f), std::nextafterf(Call<float>("__nv_frcp_rd", 3.0f), 1));
  EXPECT_EQ(Call<float>("__nv_fmaf_ru", 1.0f, 1.0f, 1e-30f), std::nextafterf(1, 2));
  EXPECT_EQ(Call<double>("__nv_fma_rd", 1.0, 1.0, -1e-300), std::nextafter(1, 0));
  EXPECT_EQ(Call<float>("__nv_double2float_rd", 0.1), std::nextafterf(0.1f, 0));  // 0.1f is above 0.1
  EXPECT_EQ(Call<float>("__nv_double2float_ru", 1e300), INFINITY);
  EXPECT_EQ(Call<float>("__nv_double2float_rz", 1e300), std::numeric_limits<float>::max());
  EXPECT_EQ(Call<float>("__nv_int2float_rd", 16777217), 16777216.0f);
  EXPECT_EQ(Call<float>("__nv_int2float_ru", 16777217), 16777218.0f);
  EXPECT_EQ(Call<float>("__nv_uint2float_rz", 0xffffffffu), 4294967040.0f);
  EXPECT_EQ(Call<float>("__nv_ull2float_ru", ~uint64_t{0}), 0x1p64f);
  EXPECT_EQ(Call<double>("__nv_ull2double_rd", ~uint64_t{0}), std::nextafter(0x1p64, 0));
  EXPECT_EQ(Call<double>("__nv_ll2double_ru", INT64_MAX), 0x1p63);
  EXPECT_EQ(Call<float>("__nv_fadd_rn", 1.0f, 1e-30f), 1.0f);  // the mode is put back
  EXPECT_EQ(1.0f + static_cast<volatile float&&>(1e-30f), 1.0f);
}

TEST(LanesExtern, FloatToIntegerModes) {
  EXPECT_EQ(Call<int32_t>("__nv_float2int_rn", 2.5f), 2);
  EXPECT_EQ(Call<int32_t>("__nv_float2int_rz", -2.5f), -2);
  EXPECT_EQ(Call<int32_t>("__nv_float2int_rd", -2.5f), -3);
  EXPECT_EQ(Call<int32_t>("__nv_float2int_ru", 2.1f), 3);
  EXPECT_EQ(Call<int32_t>("__nv_float2int_rn", NAN), 0);
  EXPECT_EQ(Call<int32_t>("__nv_double2int_rn", 1e10), INT32_MAX);
  EXPECT_EQ(Call<uint32_t>("__nv_float2uint_rz", -1.0f), 0u);
  EXPECT_EQ(Call<uint64_t>("__nv_double2ull_rz", 1e30), ~uint64_t{0});
  EXPECT_EQ(Call<int64_t>("__nv_llroundf", -2.5f), -3);
  EXPECT_EQ(Call<int64_t>("__nv_llrint", 3.5), 4);
}

TEST(LanesExtern, BitsAndIntegers) {
  EXPECT_EQ(Call<int32_t>("__nv_popc", 0xf0f0), 8);
  EXPECT_EQ(Call<int32_t>("__nv_clz", 0), 32);
  EXPECT_EQ(Call<int32_t>("__nv_clzll", int64_t{1}), 63);
  EXPECT_EQ(Call<int32_t>("__nv_ffs", 0), 0);
  EXPECT_EQ(Call<int32_t>("__nv_ffsll", int64_t{1} << 40), 41);
  EXPECT_EQ(Call<uint32_t>("__nv_brev", 1), 0x80000000u);
  EXPECT_EQ(Call<uint32_t>("__nv_byte_perm", 0x33221100, 0x77665544, 0x7152), 0x77115522u);
  EXPECT_EQ(Call<int32_t>("__nv_mulhi", INT32_MIN, INT32_MIN), 1 << 30);
  EXPECT_EQ(Call<int32_t>("__nv_mulhi", -1, 1), -1);
  EXPECT_EQ(Call<uint64_t>("__nv_umul64hi", ~uint64_t{0}, ~uint64_t{0}), ~uint64_t{0} - 1);
  EXPECT_EQ(Call<int32_t>("__nv_mul24", 0x00ffffff, 2), -2);
  EXPECT_EQ(Call<uint32_t>("__nv_umul24", 0x00ffffff, 2), 0x1fffffeu);
  EXPECT_EQ(Call<int32_t>("__nv_sad", -5, 7, 100), 112);
  EXPECT_EQ(Call<uint32_t>("__nv_usad", 0u, 0xffffffffu, 1u), 0u);
  EXPECT_EQ(Call<int32_t>("__nv_hadd", -3, -2), -3);
  EXPECT_EQ(Call<int32_t>("__nv_rhadd", -3, -2), -2);
  EXPECT_EQ(Call<uint32_t>("__nv_urhadd", 0xffffffffu, 0xfffffffeu), 0xffffffffu);
  EXPECT_EQ(Call<int32_t>("__nv_abs", INT32_MIN), INT32_MIN);
  EXPECT_EQ(Call<int32_t>("__nv_float_as_int", 1.0f), 0x3f800000);
  EXPECT_EQ(Call<double>("__nv_hiloint2double", 0x3ff00000, 0), 1.0);
  EXPECT_EQ(Call<int32_t>("__nv_isnanf", NAN), 1);
  EXPECT_EQ(Call<int32_t>("__nv_isinfd", -HUGE_VAL), 1);
  EXPECT_EQ(Call<int32_t>("__nv_finitef", INFINITY), 0);
  EXPECT_EQ(Call<int32_t>("__nv_signbitf", -0.0f), 1);
  EXPECT_EQ(Call<int32_t>("__nv_ilogbf", 0x1p-140f), -140);
}

// Values to 17 digits from arbitrary-precision arithmetic (mpmath).
TEST(LanesExtern, SpecialFunctions) {
  struct Row {
    const char* symbol;
    double x, value;
  };
  const Row rows[] = {{"__nv_erfinv", 0.5, 0.47693627620446987},
                      {"__nv_erfinv", -0.9, -1.1630871536766742},
                      {"__nv_erfinv", 1e-20, 8.8622692545275797e-21},
                      {"__nv_erfinv", 0.999999, 3.4589107372754988},
                      {"__nv_erfcinv", 1e-10, 4.5728249673894853},
                      {"__nv_erfcinv", 1.5, -0.47693627620446987},
                      {"__nv_erfcinv", 1e-300, 26.209469960516124},
                      {"__nv_normcdf", 0.0, 0.5},
                      {"__nv_normcdf", 1.0, 0.84134474606854295},
                      {"__nv_normcdf", -30.0, 4.9067139271481871e-198},
                      {"__nv_normcdfinv", 0.975, 1.9599639845400539},
                      {"__nv_erfcx", 1.0, 0.427583576155807},
                      {"__nv_erfcx", 9.5, 0.059064678352563891},
                      {"__nv_erfcx", 50.0, 0.011281536265323773},
                      {"__nv_erfcx", -2.0, 108.94090438997797},
                      {"__nv_cyl_bessel_i0", 1.0, 1.2660658777520083},
                      {"__nv_cyl_bessel_i0", 29.5, 478144163888.0398},
                      {"__nv_cyl_bessel_i0", 40.0, 14894774793419900.0},
                      {"__nv_cyl_bessel_i0", 712.0, 2.4684110577627524e+307},
                      {"__nv_cyl_bessel_i1", 1.0, 0.56515910399248503},
                      {"__nv_cyl_bessel_i1", -40.0, -14707396163259353.0},
                      {"__nv_sinpi", 0.25, 0.70710678118654752},
                      {"__nv_sinpi", 1000000000000000.5, 1.0},
                      {"__nv_cospi", 1.0 / 3, 0.50000000000000005},
                      {"__nv_cospi", 7.0, -1.0},
                      {"__nv_lgamma", 10.0, 12.80182748008147},
                      {"__nv_tgamma", 5.0, 24.0},
                      {"__nv_j0", 1.0, 0.76519768655796655},
                      {"__nv_y1", 2.0, -0.10703243154093755},
                      {"__nv_rcbrt", 8.0, 0.5},
                      {"__nv_exp10", 2.0, 100.0}};
  for (const Row& row : rows) {
    EXPECT_NEAR(Call<double>(row.symbol, row.x), row.value, std::fabs(row.value) * 3e-14)
        << row.symbol << " " << row.x;
    const float single = Call<float>(std::string(row.symbol) + "f", static_cast<float>(row.x));
    const double same = Call<double>(row.symbol, static_cast<double>(static_cast<float>(row.x)));
    EXPECT_LE(UlpDistance(Elem::kF32, std::bit_cast<uint32_t>(single), FloatBits(Elem::kF32, same)), 4u)
        << row.symbol;
  }
  EXPECT_EQ(Call<double>("__nv_sinpi", 3.0), 0);
  EXPECT_EQ(Call<double>("__nv_cospi", 2.5), 0);
  EXPECT_EQ(Call<double>("__nv_erfinv", 1.0), INFINITY);
  EXPECT_EQ(Call<double>("__nv_erfcinv", 2.0), -INFINITY);
  EXPECT_TRUE(std::isnan(Call<double>("__nv_erfinv", 1.5)));
  EXPECT_EQ(Call<double>("__nv_jn", 2, 1.0), ::jn(2, 1.0));
  EXPECT_EQ(Call<double>("__nv_powi", -2.0, 3), -8);
  EXPECT_EQ(Call<float>("__nv_norm4df", 1.0f, 1.0f, 1.0f, 1.0f), 2);
  EXPECT_EQ(Call<double>("__nv_rnorm3d", 2.0, 3.0, 6.0), 1.0 / 7);
  EXPECT_EQ(Call<float>("__nv_ldexpf", 1.5f, 4), 24);
  EXPECT_EQ(Call<float>("__nv_remainderf", 5.0f, 3.0f), -1);
  EXPECT_EQ(Call<float>("__nv_fmodf", -5.0f, 3.0f), -2);
  EXPECT_EQ(Call<float>("__nv_saturatef", NAN), 0);
  EXPECT_EQ(Call<float>("__nv_nextafterf", 1.0f, 2.0f), std::nextafterf(1, 2));
  EXPECT_EQ(Call<float>("__nv_fast_fdividef", 1.0f, 0x1p127f), 0);
}

// The approximate forms are off by what is documented and no more, and by much of that somewhere.
TEST(LanesExtern, FastFormsAreOff) {
  struct Row {
    const char* symbol;
    double (*exact)(double);
    double (*most)(double);  // absolute
  };
  const auto ulp = [](double y) { return std::exp2(std::floor(std::log2(std::fabs(y))) - 23); };
  static const auto kUlp = ulp;
  const Row rows[] = {
      {"__nv_fast_expf", std::exp,
       [](double x) { return (2.5 + std::floor(1.173 * std::fabs(x))) * kUlp(std::exp(x)); }},
      {"__nv_fast_logf", std::log,
       [](double x) { return x <= 2 ? std::exp2(-21.4) : 3.5 * kUlp(std::log(x)); }},
      {"__nv_fast_sinf", std::sin, [](double x) { return std::exp2(-21.4) + x * std::exp2(-23); }},
      {"__nv_fast_cosf", std::cos, [](double x) { return std::exp2(-21.1) + x * std::exp2(-23); }}};
  for (const Row& row : rows) {
    double largest = 0;
    for (float x = 0.5f; x < 60; x += 0.0173f) {
      const double share = std::fabs(Call<float>(row.symbol, x) - row.exact(double{x})) / row.most(double{x});
      largest = std::max(largest, share);
    }
    EXPECT_LE(largest, 1) << row.symbol;
    EXPECT_GE(largest, 0.5) << row.symbol;
  }
  EXPECT_EQ(Call<float>("__nv_fast_expf", 0.0f), 1);
  EXPECT_EQ(Call<float>("__nv_fast_logf", 1.0f), 0);
  EXPECT_EQ(Call<float>("__nv_fast_expf", 100.0f), INFINITY);
  EXPECT_EQ(Call<float>("__nv_fast_logf", 0.0f), -INFINITY);
  EXPECT_TRUE(std::isnan(Call<float>("__nv_fast_sinf", INFINITY)));
  EXPECT_NEAR(Call<float>("__nv_fast_powf", 3.0f, 4.0f), 81, 81 * 1e-5);
}

// The inverse functions invert, over their whole range.
TEST(LanesExtern, InversesInvert) {
  for (double x = 0.01; x < 26; x *= 1.03) {
    const double z = std::erfc(x), back = Call<double>("__nv_erfcinv", z);
    // erfc's condition number is 2x².
    EXPECT_NEAR(back, x, x * 1e-15 * (4 + 1 / (x * x))) << x;
    if (x > 3) continue;
    EXPECT_NEAR(Call<double>("__nv_erfinv", std::erf(x)), x, 4e-16 * (x + std::exp(x * x)) + 1e-15 * x) << x;
  }
}

}  // namespace
}  // namespace tritogen::tile::lanes
