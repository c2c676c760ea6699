// Shapes of operators, stated once for two uses. The rule of a catalogue row (OpRow::shape) is a function
// that talks to a ShapeBuilder: it reads sizes as Terms and asks for sums, products and windows of them.
// Where all Terms are numbers the builder computes; where some are variables it states a relation instead. So
// one text both says what the result's shape is and which constraints a synthesised call must meet.
//
//   auto known = ShapesOf(form);        // every tensor's sizes given: result sizes, or what is wrong
//   ShapeSystem system = ConstraintsOf(form);  // ranks given: variables and relations over sizes and
//   attributes
//
// A form fixes what the constraints' own form depends on: ranks, dimensions named by `dim`, `keepdim`,
// lengths of lists. Integer attributes whose number enters an equation (stride, padding, groups, sizes) may
// be left free.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tritogen {

struct OpRow;
struct Signature;
struct NodeRef;
class BoundArgs;

// A size: a variable of a ShapeSystem or a number.
struct Term {
  int var = -1;  // −1: the number
  int64_t number = 0;

  static Term Of(int64_t number) { return {-1, number}; }
  bool known() const { return var < 0; }
  bool operator==(const Term&) const = default;
};
using Terms = std::vector<Term>;

// Relations. Sizes are positive integers; attributes may be zero where their range says so.
namespace relation {
struct Equal {
  Term a, b;
};
// PyTorch's broadcasting of two sizes: out = a where b is 1 or equal, out = b where a is 1.
struct Broadcast {
  Term out, a, b;
};
// Π left = Π right.
struct Product {
  Terms left, right;
};
// Σ coefficient · term + constant = 0, or ≤ 0 when `at_most`.
struct Linear {
  std::vector<std::pair<int64_t, Term>> terms;
  int64_t constant = 0;
  bool at_most = false;
};
// number is a multiple of divisor.
struct Divides {
  Term divisor, number;
};
// out = ⌊(in + 2·padding − dilation·(kernel − 1) − 1) / stride⌋ + 1 ≥ 1: a convolution or a pool.
struct Window {
  Term out, in, kernel, stride, padding, dilation;
};
// out = (in − 1)·stride − 2·padding + dilation·(kernel − 1) + extra + 1 ≥ 1 and 0 ≤ extra < max(stride,
// dilation): a transposed convolution. With extra < stride it is Window with `in` and `out` exchanged, and
// `extra` is what the floor there leaves over.
struct TransposedWindow {
  Term out, in, kernel, stride, padding, dilation, extra;
};
struct InRange {
  Term term;
  int64_t low, high;  // both belong to it
};
}  // namespace relation

using Relation =
    std::variant<relation::Equal, relation::Broadcast, relation::Product, relation::Linear, relation::Divides,
                 relation::Window, relation::TransposedWindow, relation::InRange>;

inline constexpr int64_t kUnboundedSize = std::numeric_limits<int64_t>::max();

// An operand's size that ConstraintsOf makes a variable of.
inline constexpr Term kAnySize{-2, 0};

struct ShapeVariable {
  enum class Role {
    kOperand,    // size `axis` of tensor `index` of the form
    kResult,     // size `axis` of result `index`
    kAttribute,  // item `axis` of the attribute `name`
    kAuxiliary,  // stands between two relations
  } role;
  int index = 0, axis = 0;
  std::string name;       // "t1[0]", "stride[0]", "out0[2]"
  std::string attribute;  // of kAttribute: the parameter

  int64_t low = 1, high = kUnboundedSize;
};

// What a call of an operator looks like before its sizes are known.
struct OpForm {
  const OpRow* row = nullptr;
  const Signature* signature = nullptr;     // one of the row's
  const BoundArgs* args = nullptr;          // NodeRef{i} stands for tensors[i]; every attribute has a value
  std::vector<Terms> tensors;               // sizes, all numbers or all unknown (AnyOfRank)
  std::set<std::string, std::less<>> free;  // integer attributes that become variables, item by item

  static Terms AnyOfRank(int rank) { return Terms(rank, kAnySize); }
};

struct ShapeSystem {
  std::vector<ShapeVariable> variables;
  std::vector<Relation> relations;
  std::vector<Terms> operands, results;
  std::string problem;  // why no such call exists; empty when one may
};

// REQUIRES: the form's tensors are AnyOfRank.
ShapeSystem ConstraintsOf(const OpForm& form);

// Sizes of the results, or `problem`. REQUIRES: every size of the form is a number and nothing is free.
struct KnownShapes {
  std::vector<std::vector<int64_t>> results;
  std::string problem;
};
KnownShapes ShapesOf(const OpForm& form);

// "a = b · c", with the variables' names.
std::string ToString(const ShapeSystem& system, const Relation& relation);

// What rules talk to. After the first failure everything else is ignored.
class ShapeBuilder {
 public:
  explicit ShapeBuilder(const OpForm& form);

  const OpRow& row() const { return *form_.row; }
  const Signature& signature() const { return *form_.signature; }
  const BoundArgs& args() const { return *form_.args; }

  // Arguments. A tensor that is missing or None has no sizes: Has() says so.
  bool Has(std::string_view tensor) const;
  const Terms& In(std::string_view tensor) const;
  std::vector<Terms> List(std::string_view tensors) const;  // of a Tensor[]
  const Terms& Tensor(NodeRef ref) const;
  int Rank(std::string_view tensor) const { return static_cast<int>(In(tensor).size()); }
  int64_t Int(std::string_view name, int64_t otherwise) const;
  bool Flag(std::string_view name) const;
  bool Given(std::string_view name) const;  // neither None nor an empty list
  std::vector<int64_t> Ints(std::string_view name) const;
  // A dimension, wrapped into [0, rank).
  int Axis(std::string_view name, int rank);
  int Wrap(int64_t axis, int rank);
  // The attribute as Terms: variables where it is free. One number stands for all `count`; count −1: as many
  // as there are.
  Term Attribute(std::string_view name, int64_t otherwise = 0);
  Terms Attributes(std::string_view name, int count = -1, int64_t otherwise = 0);

  // Sizes from sizes.
  Term Broadcasted(Term a, Term b);
  Terms BroadcastedShapes(const Terms& a, const Terms& b);  // aligned at the right
  Term Times(const Terms& factors);
  Term Over(Term number, Term divisor, std::string_view what);  // exact
  Term Plus(const std::vector<std::pair<int64_t, Term>>& terms, int64_t constant = 0, int64_t low = 1);
  struct WindowTerms {
    Term in, kernel, stride, padding, dilation;
    bool known() const {
      return in.known() && kernel.known() && stride.known() && padding.known() && dilation.known();
    }
  };
  // `ceil`: the rounding of pools that ask for it; only for known sizes.
  Term WindowOut(const WindowTerms& window, bool ceil = false);
  Term WindowIn(const WindowTerms& window, Term extra);
  // One that relations stated later determine; at least `low`.
  Term Unknown(std::string name, int64_t low = 1);

  // What must hold.
  void RequireEqual(Term a, Term b, std::string_view what);
  void RequireEqual(const Terms& a, const Terms& b, std::string_view what);
  void RequireProduct(const Terms& left, const Terms& right, std::string_view what);
  void RequireDivides(Term divisor, Term number, std::string_view what);
  void RequireRange(Term term, int64_t low, int64_t high, std::string_view what);
  // Σ coefficient · term + constant ≤ 0.
  void RequireAtMost(const std::vector<std::pair<int64_t, Term>>& terms, int64_t constant,
                     std::string_view what);
  bool Require(bool holds, std::string_view what);  // of the form itself

  void Result(Terms sizes);
  void ResultAgain();  // one more with the sizes of the last one
  void Fail(std::string why);
  bool failed() const { return !system_.problem.empty(); }

  ShapeSystem Take();

 private:
  bool IsWindow(const WindowTerms& window);
  int Variable(ShapeVariable::Role role, int index, int axis, std::string name, int64_t low, int64_t high);

  const OpForm& form_;
  ShapeSystem system_;
  std::map<std::string, Terms, std::less<>> attributes_;  // made once, so that a variable is one
};

using ShapeRule = void (*)(ShapeBuilder&);

}  // namespace tritogen
