// Counts of systems too large to try every combination, against a constraint solver that knows nothing of
// ours: Gecode enumerates all solutions. Built where Debian's libgecode-dev is installed.
#include <gtest/gtest.h>

#include "synth/random_systems.h"
#include "synth/solver.h"

#ifdef TRITOGEN_HAVE_GECODE
#include <gecode/int.hh>
#include <gecode/minimodel.hh>
#include <gecode/search.hh>

#include "base/overloaded.h"

namespace tritogen::synth {
namespace {

constexpr int kLargest = 1 << 24;

class Model : public Gecode::Space {
 public:
  explicit Model(const System& system) {
    for (const auto& variable : system.variables()) {
      std::vector<int> values;
      for (int64_t value : variable.domain.Values()) values.push_back(static_cast<int>(value));
      all_ << Gecode::IntVar(*this, Gecode::IntSet(values.data(), static_cast<int>(values.size())));
    }
    for (const Constraint& constraint : system.constraints())
      std::visit([&](const auto& c) { Post(c); }, constraint);
    vars_ = Gecode::IntVarArray(*this, all_);
    // Auxiliary variables are functions of these: branching on these finds each solution once.
    Gecode::branch(*this, vars_, Gecode::INT_VAR_SIZE_MIN(), Gecode::INT_VAL_MIN());
  }
  Model(Model& other) : Gecode::Space(other) { vars_.update(*this, other.vars_); }
  Gecode::Space* copy() override { return new Model(*this); }

 private:
  Gecode::IntVar Of(const Operand& o) {
    return o.var < 0 ? Gecode::IntVar(*this, static_cast<int>(o.number), static_cast<int>(o.number))
                     : all_[o.var];
  }
  Gecode::IntVar ProductOf(int64_t scale, const std::vector<Var>& vars) {
    Gecode::IntVar product(*this, static_cast<int>(scale), static_cast<int>(scale));
    for (Var var : vars) product = Gecode::expr(*this, product * all_[var]);
    return product;
  }
  void Post(const Equal& c) { Gecode::rel(*this, all_[c.a] == all_[c.b]); }
  void Post(const Broadcast& c) {
    const auto &a = all_[c.a], &b = all_[c.b], &out = all_[c.out];
    Gecode::rel(*this, (a == b && b == out) || (a == 1 && b == out) || (b == 1 && a == out));
  }
  void Post(const Product& c) {
    Gecode::rel(*this, ProductOf(c.left_scale, c.left) == ProductOf(c.right_scale, c.right));
  }
  void Post(const Bound& c) {
    const Gecode::IntVar product = ProductOf(c.scale, c.vars);
    Gecode::rel(*this, product >= static_cast<int>(c.low));
    Gecode::rel(*this, product <= static_cast<int>(std::min<int64_t>(c.high, kLargest)));
  }
  void Post(const Divides& c) { Gecode::rel(*this, Of(c.number) % Of(c.divisor) == 0); }
  void Post(const Window& c) {
    const auto &out = all_[c.out], &in = all_[c.in];
    const Gecode::IntVar kernel = Of(c.kernel), stride = Of(c.stride), padding = Of(c.padding),
                         dilation = Of(c.dilation);
    const Gecode::IntVar room = Gecode::expr(*this, in + 2 * padding - dilation * (kernel - 1) - 1);
    Gecode::rel(*this, room >= 0);
    Gecode::rel(*this, (out - 1) * stride <= room);
    Gecode::rel(*this, room < out * stride);
  }
  void Post(const TransposedWindow& c) {
    const Gecode::IntVar kernel = Of(c.kernel), stride = Of(c.stride), padding = Of(c.padding),
                         dilation = Of(c.dilation), extra = Of(c.extra);
    Gecode::rel(*this,
                all_[c.out] == (all_[c.in] - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1);
    Gecode::rel(*this, extra < stride || extra < dilation);
  }
  void Post(const Linear& c) {
    Gecode::IntArgs coefficients;
    Gecode::IntVarArgs vars;
    for (const Linear::Term& term : c.terms) {
      coefficients << static_cast<int>(term.coefficient);
      vars << all_[term.var];
    }
    Gecode::linear(*this, coefficients, vars, c.at_most ? Gecode::IRT_LQ : Gecode::IRT_EQ,
                   static_cast<int>(-c.constant));
  }

  Gecode::IntVarArgs all_;
  Gecode::IntVarArray vars_;
};

// Nothing when there are more than `most`.
std::optional<int64_t> CountByGecode(const System& system, int64_t most) {
  for (const auto& variable : system.variables()) {
    if (variable.domain.empty()) return 0;
  }
  Model model(system);
  Gecode::DFS<Model> search(&model);
  for (int64_t count = 0; count <= most; ++count) {
    Model* solution = search.next();
    if (solution == nullptr) return count;
    delete solution;
  }
  return std::nullopt;
}

TEST(Gecode, RandomSystemsHaveAsManySolutions) {
  SplitMix random(33);
  int compared = 0;
  int64_t solutions = 0;
  for (int i = 0; i < 400; ++i) {
    const System system = RandomSystem(&random, 9, 7);
    const auto expected = CountByGecode(system, 20'000);
    if (!expected) continue;
    for (const int64_t steps : {int64_t{0}, kManySteps}) {  // by tables, and by budgets
      const auto space = Solver({.most_steps = steps}).Compile(system);
      ASSERT_TRUE(space);
      EXPECT_EQ(space->count().ToString(), std::to_string(*expected)) << i;
    }
    ++compared;
    solutions += *expected;
  }
  EXPECT_GT(compared, 200);
  EXPECT_GT(solutions, 100'000);
}

// A convolution with a bound on each tensor, as shape rules make it.
TEST(Gecode, ConvolutionHasAsManySolutions) {
  System s;
  auto add = [&](const char* name, Domain domain) { return s.Add(name, std::move(domain)); };
  const Var n = add("n", {1, 2, 4}), c = add("c", {1, 3, 4, 6}), h = add("h", {5, 7, 8}),
            o = add("o", {2, 4, 8}), g = add("g", {1, 2, 3}), cg = add("c/g", Domain::Interval(1, 6)),
            k = add("k", {1, 2, 3}), st = add("s", {1, 2}), p = add("p", Domain::Interval(0, 2)),
            out = add("out", Domain::Interval(1, 20));
  s.Add(Product{{c}, {cg, g}});
  s.Add(Divides{Operand::Of(g), Operand::Of(o)});
  s.Add(Window{out, h, Operand::Of(k), Operand::Of(st), Operand::Of(p), 1});
  s.Add(Linear{{{2, p}, {-1, k}}, 0, true});
  s.Add(Bound{{n, c, h}, 1, 0, 80});
  s.Add(Bound{{n, o, out}, 1, 4, 60});
  s.Add(Bound{{o, cg, k}, 1, 0, 24});
  const auto expected = CountByGecode(s, 1'000'000);
  ASSERT_TRUE(expected);
  EXPECT_GT(*expected, 500);
  for (const int64_t steps : {int64_t{0}, kManySteps}) {
    const auto space = Solver({.most_steps = steps}).Compile(s);
    ASSERT_TRUE(space);
    EXPECT_TRUE(space->exact());
    EXPECT_EQ(space->count().ToString(), std::to_string(*expected));
  }
}

}  // namespace
}  // namespace tritogen::synth

#else

TEST(Gecode, IsThere) {
  GTEST_SKIP() << "libgecode-dev is not installed: counts were not compared with Gecode's";
}

#endif
