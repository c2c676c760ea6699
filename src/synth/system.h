// System: a constraint system over non-negative integers, as the shape rules of operators give them. It says
// what must hold; solver.h counts and enumerates its solutions.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "synth/domain.h"

namespace tritogen::synth {

using Var = int32_t;

// A variable or a number.
struct Operand {
  Operand(int64_t number) : number(number) {}  // NOLINT
  static Operand Of(Var var) {
    Operand operand(0);
    operand.var = var;
    return operand;
  }
  Var var = -1;  // −1: the number
  int64_t number;
  bool operator==(const Operand&) const = default;
};

struct Equal {
  Var a, b;
};

// PyTorch's broadcasting of two sizes: a = b = out, or a = 1 and b = out, or b = 1 and a = out.
struct Broadcast {
  Var out, a, b;
};

// left_scale · Π left = right_scale · Π right, in 63 bits. REQUIRES: scales ≥ 1.
struct Product {
  std::vector<Var> left, right;
  int64_t left_scale = 1, right_scale = 1;
};

inline constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

// low ≤ scale · Π vars ≤ high. REQUIRES: scale ≥ 1.
struct Bound {
  std::vector<Var> vars;
  int64_t scale = 1, low = 0, high = kUnbounded;
};

// number is a multiple of divisor.
struct Divides {
  Operand divisor, number;
};

// Windows of a convolution or a pool: out = ⌊(in + 2·padding − dilation·(kernel − 1) − 1) / stride⌋ + 1 ≥ 1.
struct Window {
  Var out, in;
  Operand kernel, stride = 1, padding = 0, dilation = 1;
};

// Transposed convolution: out = (in − 1)·stride − 2·padding + dilation·(kernel − 1) + extra + 1 ≥ 1 and
// extra < max(stride, dilation).
struct TransposedWindow {
  Var out, in;
  Operand kernel, stride = 1, padding = 0, dilation = 1, extra = 0;
};

// Σ coefficient · var + constant = 0, or ≤ 0 when `at_most`.
struct Linear {
  struct Term {
    int64_t coefficient;
    Var var;
  };
  std::vector<Term> terms;
  int64_t constant = 0;
  bool at_most = false;
};

using Constraint = std::variant<Equal, Broadcast, Product, Bound, Divides, Window, TransposedWindow, Linear>;

class System {
 public:
  struct Variable {
    std::string name;
    Domain domain;
  };

  Var Add(std::string name, Domain domain);
  // Keeps only these values.
  void Restrict(Var var, const Domain& domain);
  void Add(Constraint constraint) { constraints_.push_back(std::move(constraint)); }

  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }

  // Whether the values, one a variable, are in their domains and meet every constraint. This is the plain
  // definition that solver.h is tested against. Products saturate instead of overflowing.
  bool Holds(std::span<const int64_t> values) const;
  std::string ToString(const Constraint& constraint) const;

 private:
  std::vector<Variable> variables_;
  std::vector<Constraint> constraints_;
};

// Whether one constraint holds.
bool Holds(const Constraint& constraint, std::span<const int64_t> values);
// Calls `visit` with every variable of the constraint, in a fixed order; one may come twice.
void ForEachVariable(Constraint* constraint, const std::function<void(Var*)>& visit);
std::vector<Var> VariablesOf(const Constraint& constraint);  // ascending, each once
// The size of a window's output; 0 when no window fits.
int64_t WindowOut(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation);
// The same of a transposed convolution; 0 when there is none.
int64_t TransposedOut(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                      int64_t extra);
// a · b, or kUnbounded when that is too large. REQUIRES: a, b ≥ 0.
int64_t SaturatingProduct(int64_t a, int64_t b);

}  // namespace tritogen::synth
