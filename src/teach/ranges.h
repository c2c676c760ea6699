// What is known of the numbers in a value before it is computed: of places that are read at, whether any is
// negative, and whether they need 64 bits.
#pragma once

#include <optional>
#include <vector>

#include "teach/expression.h"
#include "teach/graph.h"

namespace tritogen::teach {

// All numbers lie in it, both ends among them, and none is NaN.
struct Range {
  double lo, hi;
  bool Fits(Dtype integer) const;
};

// Read from conditions, constants, element numbers and arithmetic on integers; that of floating-point numbers
// rounds, and is not followed.
class Ranges {
 public:
  explicit Ranges(const Graph& graph) : graph_(graph) {}

  // Nothing where the numbers may be any.
  std::optional<Range> Of(const View& view);

  // The condition is true, or false, of each element that is asked about until Forget(): where tl.where takes
  // one side, say. Gives what to Forget to.
  size_t Assume(const View& condition, bool holds);
  void Forget(size_t before) { facts_.resize(before); }

 private:
  struct Fact {
    View view;
    Range range;
  };
  // A pointwise prim, read through a view of it.
  struct Reading {
    const Prim& prim;
    const View& view;
  };

  std::optional<Range> Computed(const View& view);
  std::optional<Range> Of(const Expression& e, const Reading& in);
  std::optional<Range> OfOperand(size_t operand, const Reading& in);
  std::optional<Range> OfCall(const Expression& e, const Reading& in);
  std::optional<Range> OfBinary(const Expression& e, const Reading& in);
  std::optional<Range> OfWhere(const Expression& e, const Reading& in);
  void Assume(const Expression& condition, const Reading& in, bool holds);
  void AssumeCompared(const Expression& condition, const Reading& in, bool holds);
  Dtype HeldBy(const View& view) const;
  // Of arithmetic on 32-bit and 64-bit integers alone, what it happens in.
  std::optional<Dtype> IntegerDtype(const Expression& e, const Reading& in) const;

  const Graph& graph_;
  std::vector<Fact> facts_;
  int steps_ = 0;  // values looked at for the one that is asked about
};

}  // namespace tritogen::teach
