// What the lower_*.cc files share: the graph under construction and short ways to add to it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "program/catalogue.h"
#include "teach/graph.h"
#include "teach/lower.h"

namespace tritogen::teach {

// A tensor of the program while it is taken apart.
struct Value {
  View view;
  Dtype dtype = Dtype::kFloat32;
  const std::vector<int64_t>& sizes() const { return view.sizes; }
};

struct LineParts;
struct LinePieces;

// The tensors that a call is given.
std::vector<NodeRef> TensorArguments(const Node& node);

// A number as an element of this dtype: 1 is "1.0", "1" or "True".
std::string NumberText(const Arg& number, Dtype dtype);

// An operand of Builder::Op: a tensor or a number.
using In = std::variant<Value, double>;

class Builder {
 public:
  explicit Builder(const LowerOptions& options) : options_(options) {}

  // A pointwise operator of the catalogue on values and numbers, broadcast; arguments in the row's order. The
  // result is `dtype`; when it is left out, the compute dtype of the first tensor (bool for comparisons).
  Value Op(std::string_view op, const std::vector<In>& in, std::optional<Dtype> dtype = {});
  // The same for a bound call; `get` gives the tensors that it refers to.
  Value Apply(const OpRow& row, const BoundArgs& args, const std::function<Value(NodeRef)>& get,
              Dtype result);
  // A pointwise value from an expression with {0}…, its operands in the dtype that each computes in.
  Value Pointwise(std::string name, std::string expr, const std::vector<Value>& in, Dtype dtype,
                  double flops);
  // A reduction. `dims` as PyTorch gives them, empty for all. Sums of half types are float32 and so on.
  Value Reduce(ReduceOp op, const Value& in, std::vector<int64_t> dims, bool keepdim);
  Value Mean(const Value& in, const std::vector<int64_t>& dims, bool keepdim);
  // A sum over so many elements, divided by their number less `correction`.
  Value DividedByCount(std::string name, const Value& sum, const std::vector<int64_t>& factors,
                       int64_t correction = 0);
  // A quotient of float32 is rounded as IEEE says from now on, and so is one that it is taken of or by.
  void RoundQuotient(const Value& of);
  // Every partial result of a reduction along one dimension, `backwards` from its last element on.
  Value Scan(ReduceOp op, const Value& in, int64_t dim, bool backwards = false);
  // Of lines of int32, the last dimension, the element that stands at this place when they are in order.
  Value ElementOfRank(const Value& lines, int64_t rank);
  // Of each such line the `entries` of `room` elements, in any order, among them those of its `count`
  // smallest. REQUIRES: count < room <= a line's length.
  Value Candidates(const Value& lines, const Value& entries, int64_t count, int64_t room);
  // a (batch…, m…, k) times b (batch…, k, n); `batch_dims` are equal in both.
  Value Matmul(const Value& a, const Value& b, int batch_dims);
  // The same where k is several dimensions in the operands; `sizes` (batch…, m…, n), `shape` as Prim::shape.
  Value Matmul(const Value& a, const Value& b, int batch_dims, std::vector<int64_t> sizes, int64_t inner,
               std::vector<int64_t> shape = {});
  // The same of factors that are sums of as many values each, the largest first; the result is float32.
  Value Matmul(const std::vector<Value>& a, const std::vector<Value>& b, int batch_dims,
               std::vector<int64_t> sizes, int64_t inner, std::vector<int64_t> shape = {});
  // The same by outer products, of which `taps` are written out: the last dimensions of k have so many
  // elements.
  Value OuterProducts(const Value& a, const Value& b, int batch_dims, std::vector<int64_t> sizes,
                      int64_t inner, int64_t taps, std::vector<int64_t> shape);
  // Whether a product of so many operations in this dtype is to have factors that are stored for it.
  bool StoresFactors(Dtype dtype, double flops) const;
  // The same of a convolution, whose windows are read along their channels.
  bool StoresWindows(Dtype dtype, double flops) const;
  // Rows and columns of the tiles that multiply parts.
  static constexpr int64_t kTileOfParts = 128;
  // From kFlopsWorthStoring up to so many operations three TF32 dots are quicker than parts also of a factor
  // that does not lie along the sum.
  static constexpr double kFlopsOfTf32x3Across = double{1u << 29};
  // Whether so few tiles read each row or column of a factor, of a result with so many the other way, that
  // they can take it apart themselves.
  static bool FewRead(int64_t results);
  // What such a product multiplies in the place of a factor, whose last dimension is summed over: its parts,
  // or for TF32 and half types the factor itself or a copy.
  std::vector<Value> StoredFactor(const Value& in);
  // Whether a product of one row, in the node under way, is one.
  bool KeepsRows() const { return options_.keep_rows || InAttention(); }
  // Whether lines of the node under way may be cut into pieces anywhere.
  bool CutsAnywhere() const { return options_.cuts == LowerOptions::Cuts::kAnywhere && !InAttention(); }
  // Makes one prim of each attention whose operations the options name.
  void JoinAttention();
  // Cuts those of few queries and many keys into pieces, which are joined behind them.
  void CutAttention();
  // Elements of `data` at one index for each of its dimensions; the result has the indices' broadcast shape.
  // Where `valid` is false nothing is read and the result is `other`, text such as "0.0".
  Value Load(std::string name, const Value& data, const std::vector<Value>& index,
             const std::optional<Value>& valid = {}, std::string other = {});
  // `start` with entries put into it, each at one index for each dimension: `how` is as Prim::other says for
  // scatters. The space of the entries is the indices' and theirs, broadcast; one whose index in `dim` is out
  // of range goes nowhere. REQUIRES: for "store" that no two entries name one element.
  Value Scatter(std::string name, std::string how, const Value& start, const std::vector<Value>& index,
                int64_t dim, const Value& entry);
  // Puts a value into a parameter, buffer or input, or into what an operator has made. Whatever reads that
  // from now on, through views of it or by itself, gets the value; what has read it before has read what was
  // there. False for what is none of these.
  bool Write(NodeRef to, const Value& value);
  bool CanWrite(NodeRef to) const;
  bool IsWritten(const Value& value) const;  // into one of these
  // One number everywhere.
  Value Fill(const std::vector<int64_t>& sizes, Dtype dtype, const Arg& number);
  Value Cast(const Value& in, Dtype dtype);
  // The same value, named, and stored rather than computed again by every reader.
  Value Once(std::string name, const Value& in);
  // The same elements in row-major order under a new shape; copies where strides do not allow a view.
  Value Reshape(const Value& in, const std::vector<int64_t>& sizes);
  // Index along one dimension, of shape `sizes`, int32 (int64 where it does not fit).
  Value Index(const std::vector<int64_t>& sizes, int64_t dim);
  // The number of an element, Σ factor · term + offset, said as shortly as it can be: dimensions of one
  // element add nothing to it.
  struct Term {
    int64_t factor;
    Value value;
  };
  Value Affine(std::string name, const std::vector<Term>& terms, int64_t offset);
  // All of them, one for each dimension: where an indexed load starts from.
  std::vector<Value> Indices(const std::vector<int64_t>& sizes);

  // Arguments of the node under way.
  Value Tensor(const BoundArgs& args, std::string_view name) const;  // REQUIRES: a tensor
  bool HasTensor(const BoundArgs& args, std::string_view name) const { return AsRef(args[name]) != nullptr; }
  // Whether the tensor holds one number throughout, which expressions then name instead of loading it.
  bool IsFilled(const Value& value) const { return fill_.count(value.view.prim) > 0; }
  Value Get(NodeRef ref) const { return values_[ref.id].at(ref.result); }
  // The call under way, made on ones of this shape: the random numbers that PyTorch draws for it are the same
  // whatever the elements are.
  Value DrawnOnOnes(const Shape& shape);

  // Gives the node under way its results; missing ones may never be used.
  void Return(std::vector<Value> results) { results_ = std::move(results); }

  const LowerOptions& options() const { return options_; }
  // What large products of the node under way multiply: LowerOptions::products, as far as it may.
  LowerOptions::Products Products() const;
  bool UsesParts() const { return Products() == LowerOptions::Products::kBfloat16Parts; }
  bool UsesTf32() const;

  // What flips of one dimension were made of, by their prim: where one is flipped back, there is none.
  struct Flip {
    Value of;
    int64_t dim;
  };
  std::map<PrimId, Flip> flips;

  Graph graph;
  std::string origin;  // what the node under way is called in names of kernels
  NodeId node = -1;    // the one under way
  // Who reads this result of the node under way; what nobody has use for need not be made.
  std::vector<const Node*> ReadersOf(int result) const;
  bool IsOutput(int result) const;

  // What stands at one place of lines, the last dimension of a prim that is made for all places: how to make
  // it by itself. Whoever reads one place alone is given that.
  std::map<PrimId, std::function<Value(int64_t place)>> by_place;

 private:
  friend class Lowering;
  std::optional<Value> AtOnePlace(const Value& value) const;  // of lines in by_place
  Value AddPointwise(Prim prim, const std::vector<Value>& in);
  int64_t WholeSum(const Value& a, const Value& b, int batch_dims, const std::vector<int64_t>& sizes,
                   int64_t inner) const;
  // The same as Reduce with its dimensions left out; nothing where lines are not cut (line_pieces.h).
  std::optional<Value> ReduceInPieces(ReduceOp op, const Value& in, const std::vector<bool>& reduced);
  Value PlaceInPieces(ReduceOp op, const LinePieces& pieces);
  std::optional<Value> ReduceInParts(ReduceOp op, const LineParts& parts, const std::vector<bool>& reduced);
  std::optional<Value> LoadThrough(const std::string& name, const Value& data,
                                   const std::vector<Value>& index, const std::optional<Value>& valid,
                                   const std::string& other);
  std::optional<Value> LoadOfLoad(const std::string& name, const Value& data, const std::vector<Value>& index,
                                  const std::optional<Value>& valid, const std::string& other);
  Value Again(Prim maker, const std::vector<Value>& in, const std::vector<Value>& index);
  Value Where(const std::string& name, const Value& valid, const Value& value, const std::string& fill);
  std::optional<Value> NumberAt(const View& view, const std::vector<Value>& index);
  // Three bfloat16 values that add up to a float32 one, largest first, stored in its own order.
  std::vector<Value> Parts(const Value& in);
  std::vector<Value> PartsWhereItLies(const Value& in);
  bool InAttention() const;  // the node under way; its work is not cut up
  bool IsTf32(Dtype dtype, double flops) const { return UsesTf32() && StoresFactors(dtype, flops); }
  // What a tensor of one number holds, as text; nothing for others.
  std::optional<std::string> NumberEverywhere(const View& view) const;
  View JoinPieces(const Prim& attention, PrimId pieces);
  Value RoundedToTf32(const Value& in);
  Value AlongTheSum(const Value& in);
  // What a product is made of: each factor as one value or as `parts` values, the largest first. Of one value
  // the product makes its parts itself, tile by tile.
  struct Factors {
    std::vector<Value> a, b;
    int parts = 1;
    int64_t taps = 0;      // as Prim::taps
    bool widened = false;  // half types of which float32 products are asked
    Dtype dtype() const { return parts > 1 || widened ? Dtype::kFloat32 : a[0].dtype; }
  };
  std::optional<std::pair<Value, Value>> BehindCasts(const Value& a, const Value& b) const;
  bool TakesTf32x3(const Value& a, const Value& b, int batch_dims, const std::vector<int64_t>& sizes,
                   int64_t inner) const;
  bool TakesCopies(const Value& a, int batch_dims, const std::vector<int64_t>& sizes, int64_t inner) const;
  int64_t Align(Value* a, Value* b, int batch_dims, const std::vector<int64_t>& sizes, int64_t inner);
  bool IsInMemory(const Value& value) const;
  bool IsMade(NodeRef ref) const;  // lies in memory that an operator of the program has made
  Value FilledUp(const Value& in, int64_t whole, bool kept);
  void StoreComputed(const Value& factor);
  std::optional<Factors> StoredFactors(const Value& a, const Value& b, int batch_dims,
                                       const std::vector<int64_t>& sizes, int64_t inner);
  Value Matmul(Factors factors, int batch_dims, std::vector<int64_t> sizes, int64_t inner,
               std::vector<int64_t> shape);
  std::optional<Value> SumOfProducts(const Factors& factors, int batch_dims, std::vector<int64_t> sizes,
                                     int64_t inner, const std::vector<int64_t>& shape);
  Value OneProduct(const Factors& factors, int batch_dims, std::vector<int64_t> sizes, int64_t inner,
                   std::vector<int64_t> shape, Dtype dtype);

  const LowerOptions& options_;
  std::map<PrimId, double> fill_;           // floating-point tensors that hold one number throughout
  std::vector<std::vector<Value>> values_;  // by node, by result
  std::vector<Value> results_;
  const Program* program_ = nullptr;
  std::function<NodeId(NodeRef)> memory_of_;  // who made what the way back through views leads to
};

// What must hold of indices for there to be an element, joined: "({0} >= 0) & ({1} < 8)".
class Conditions {
 public:
  // The value `is` something: ">= 0", or "< {1}" with a hole of another value.
  void Add(const Value& value, std::string_view is);
  // The value, from `least` to `most`, is the index of one of n elements. Both bounds are said where either
  // may be passed: to find that one of them always holds is arithmetic that who learns from it does wrong.
  void Within(const Value& value, int64_t least, int64_t most, int64_t n);
  // The value, from `least` to `most`, is a multiple of `by`, and what it is divided by that, which is given,
  // is the index of one of n elements.
  Value Quotient(Builder& b, const std::string& name, const Value& value, int64_t by, int64_t least,
                 int64_t most, int64_t n);
  std::string Hole(const Value& value);  // to speak of it in Add
  // Whether all hold; nothing where none was added.
  std::optional<Value> All(Builder& b) const;

 private:
  std::string text_;
  std::vector<Value> values_;
};

// Whether a pointwise operator's expressions, or those of ForIntegers, are right for integers too.
bool FitsIntegers(std::string_view name);
// The row with expressions for integers, which Triton divides towards zero, and for truth values.
OpRow ForIntegers(const OpRow& row, Dtype dtype);

// Each handles the operators of its family; false for what it cannot express. Results go to Builder::Return.
bool LowerPointwise(Builder& b, const Node& node, const OpRow& row, const BoundArgs& args);
bool LowerIntegerPower(Builder& b, const Node& node, const BoundArgs& args);
bool LowerLayout(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerReduction(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerNorm(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerMatmul(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerLoss(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerMove(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerIndex(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerScatter(Builder& b, std::string_view op, const BoundArgs& args);
bool LowerPool(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerResize(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerConvolution(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerScan(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerSort(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerCreate(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerRecurrent(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);
bool LowerFactor(Builder& b, const Node& node, std::string_view op, const BoundArgs& args);

// Adds an operand that is read by strides alone, which `repeat` elements where they are 0: other views are
// copied.
void ReadByStrides(Builder& b, const Value& value, bool may_repeat, Prim* prim);

// Whether pointwise work makes it of a product's elements: the product's tiles make the sums then, of
// whatever length (tile_reductions.h).
bool IsMadeOfProduct(const Graph& graph, const View& view, int steps = 8);

// The place of the largest or smallest element along dimensions, int64.
Value PlaceOfExtremum(Builder& b, Value x, bool largest, const std::vector<int64_t>& dims, bool keepdim);

// Whether no program sees a whole line: moments and softmaxes over these dimensions are made of pieces.
bool IsCut(const Builder& b, const Value& x, const std::vector<int64_t>& dims);

// Over dimensions, which are kept: the mean, x − mean, and the sum of its squares.
struct Moments {
  Value mean, centered, spread;
};
Moments MomentsOf(Builder& b, const Value& x, const std::vector<int64_t>& dims);

// Softmax over dimensions before its division: max x, x − max, its exponentials and their sum; dimensions are
// kept.
struct SoftmaxParts {
  Value maximum, shifted, exponentials, sum;
};
SoftmaxParts Softmax(Builder& b, const Value& x, const std::vector<int64_t>& dims);
// The softmax, but zeros where all is -inf, as where a mask leaves nothing.
Value SafeWeights(Builder& b, const SoftmaxParts& parts);
Value LogSoftmax(Builder& b, const SoftmaxParts& parts);
// input (…, k) times weightᵀ (n, k), plus bias where there is one.
Value Linear(Builder& b, const Value& input, const Value& weight, const std::optional<Value>& bias);

// Values side by side along a dimension that they have, or along a new one in front.
Value Concatenate(Builder& b, const std::vector<Value>& parts, int64_t dim);
Value Stack(Builder& b, std::vector<Value> parts);

// `sizes`, with 1 for those that are not among `dims` (empty: all are): what a mean counts.
std::vector<int64_t> CountedSizes(const std::vector<int64_t>& sizes, const std::vector<int64_t>& dims);

// The integer attribute `name` for each of `count` dimensions: one given integer counts for all, none or an
// empty list gives `otherwise`.
std::vector<int64_t> PerDimension(const BoundArgs& args, std::string_view name, size_t count,
                                  int64_t otherwise);

}  // namespace tritogen::teach
