// Graph: a program taken apart into what kernels are made of. Fourteen kinds of work (pointwise, indexed
// load, scatter, reduction, reduction in tiles, scan, candidates, matrix product, attention, recurrent layer
// by itself or in waves, factor of matrices, concatenation, ATen call) on values in row-major order; layout
// operations have become Views. Softmax, norms and losses are gone: they are reductions and pointwise steps
// here. So are pools (reductions over indexed loads), convolutions (products with one as an operand) and
// sorting (scans, or ranks, which are reductions of comparisons). One way of fusing serves them all.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program/program.h"
#include "teach/view.h"

namespace tritogen::teach {

// Multiprocessors of the GPU that kernels are tuned for, an H200.
inline constexpr int64_t kProcessors = 132;
// Whether so many programs leave no more than a tenth of them without one.
inline bool FillProcessors(int64_t programs) {
  return 10 * programs >= 9 * kProcessors;
}
// A launch takes about as long as so many bytes.
inline constexpr int64_t kBytesOfLaunch = int64_t{1} << 22;
// Elements of a line that a program can hold in registers.
inline constexpr int64_t kHeldLine = 32768;

enum class PrimKind {
  kSource,     // an input, parameter, buffer or constant
  kEmpty,      // a tensor without elements
  kPointwise,  // every element of `sizes` from one element of each operand
  kLoad,       // element `expr` of operand 0, which lies in memory; the other operands as for kPointwise
  kScatter,    // a copy of operand 0, into whose element `expr` an entry of `space` goes; the last operand is
               // what, the others are as for kLoad. Several may name one element
  kReduce,     // operand 0, of shape `space`, reduced over the dimensions marked in `reduced`
  kTileReduce,  // operand 0, of shape `space`, (batch, m, n), which the same kernel makes of a product: each
                // tile of the product reduces its own part, along the dimension marked in `reduced`. With an
                // operand 1, its sum by the same tiles: squared distances from the mean of the part. Or what
                // a kernel makes of each of its rows, m of them: each program sums its own
  kScan,        // the same with every partial result, in order: `sizes` is `space`, one dimension is marked
  kCandidates,  // for each line of operand 0, keys of int32, the last dimension of `space`, as many elements
                // of operand 1 as `sizes` says, in any order: those of its `rank` smallest keys are among
                // them
  kMatmul,  // (batch…, m…, k) times (batch…, k, n); each factor is the sum of so many values as `parts`
            // says
  kAttention,  // a product whose first factor is the softmax of operand 0 along k; operand 0 is pointwise
               // work on a product, and neither is stored
  kRecurrent,  // one direction of a recurrent layer, whose inputs' products are there: states after each
               // step, and behind them an LSTM's last cell; (steps or steps + 1, batch, size)
  kWaves,      // several layers of one direction, or both directions of one, a launch for each wave of steps
  kFactor,     // what comes of factoring each of some matrices, (matrices, numbers of one)
  kJoined,     // a concatenation whose parts, its operands, are stored in its memory
  kCall,       // an ATen call; its operands are read as tensors
};

inline constexpr int kParts = 3;  // bfloat16 numbers of 8 places each, for the 24 of a float32

// kMax and kMin are NaN where an element is, as PyTorch's are; kLargest and kSmallest are of the elements
// that are numbers. kLogSumExp and kSort of scans alone. Of lines that a program holds: kSort, the smallest
// first; kOfRank, of int32, the element that would stand at the place `rank` then.
enum class ReduceOp {
  kSum,
  kMax,
  kMin,
  kLargest,
  kSmallest,
  kProd,
  kArgMax,
  kArgMin,
  kOfRank,
  kLogSumExp,
  kSort
};

// Their results are places, not elements.
inline bool IsPlace(ReduceOp op) {
  return op == ReduceOp::kArgMax || op == ReduceOp::kArgMin;
}

struct Prim {
  PrimKind kind = PrimKind::kPointwise;
  std::string name;               // what to call it in code
  std::string result;             // the program's name for it, where it is a result of an operation
  std::string origin;             // the operator of the program that it belongs to: "softmax"
  NodeId line = -1;               // the operation; of equal work, the first that has it
  Dtype dtype = Dtype::kFloat32;  // as stored in memory
  std::vector<int64_t> sizes;     // its shape
  std::vector<int64_t> shape;     // as the program has it, where that differs; numbers are written by it
  std::vector<View> operands;     // pointwise: each of shape `sizes`

  // kPointwise: Triton expression with {0}, {1}… for the operands. kLoad: the number of the element, offset
  // included.
  std::string expr;
  std::string valid, other;      // kLoad: where this does not hold, nothing is read and the value is `other`
  std::vector<Guard> guards;     // kLoad: its reader's; where they do not hold, nothing may be read
  std::vector<Dtype> compute;    // per operand: the dtype the expression wants it in
  Dtype held = Dtype::kFloat32;  // of the expression's value in registers
  bool once = false;             // stored rather than computed again by every reader
  PrimId joins = -1;  // of a concatenation its number in the lowered graph: operand i is the part that its
                      // last guard tells, the last one an index
  // Part of a kJoined: where its elements lie in that one's memory. Outside guards they are no part of it.
  // Its prim is the concatenation's `joins`, whatever numbers prims have by now.
  std::optional<View> place;
  NodeId unit = -1;      // shares kernels with prims of this unit only
  bool inlined = false;  // never stored: who reads it computes it. Index arithmetic, operands of products
  double flops = 0;      // per element

  // kScatter: `other` is how an entry goes into its element, "atomic_add", "atomic_max", "atomic_min" or
  // "store" (where no two entries name one element), and where operand 0 is one number throughout, `start`
  // says it.
  std::string start;

  // kReduce, kScan
  ReduceOp reduce = ReduceOp::kSum;
  std::vector<int64_t> space;
  std::vector<bool> reduced;
  int64_t rank = 0;   // kOfRank, kCandidates
  int64_t piece = 0;  // kTileReduce: rows or columns of a tile
  // kTileReduce: `sizes` are (m, batch, tiles) or (n, batch, tiles), so that those of a row or column follow
  // each other, instead of (batch, m, tiles) or (batch, tiles, n).
  bool by_line = false;
  // kReduce, last step of a sum of squared distances from a mean: the last step of the sum that the mean
  // comes from. Both are of the same value in memory order, (outer, lines, inner), one for each line.
  struct Spread {
    PrimId total;
    int64_t outer, lines, inner;
  };
  std::optional<Spread> spread;

  // kMatmul
  int batch_dims = 0;  // leading dimensions of sizes that are batch; the last one is n, the rest m
  int64_t inner = 0;   // k; operands may have it as several dimensions
  int parts = 1;       // values of which each factor is the sum
  bool tf32 = false;   // of float32, by TF32 dots
  int64_t taps = 0;    // of float32, by outer products instead of dots, so many in a row; 0: dots
  int first = 1;       // operands that are the first factor: all of its parts, the largest first, or the one
                       // value that the product takes apart; behind them the second factor's
  size_t Factor(size_t operand) const { return operand < static_cast<size_t>(first) ? 0 : 1; }
  bool TakesApart(size_t factor) const {
    return parts > 1 && (factor == 0 ? static_cast<size_t>(first) : operands.size() - first) == 1;
  }

  // kAttention. What is said of kMatmul, too; operand 0, of the scores, is (batch…, m…, k) as read. `expr`:
  // what scores are multiplied by before the softmax, such as "* 64 ** -0.5", or nothing. `other`: what a
  // query gets all of whose scores are -inf; empty: no number. Scores of keys that lie further ahead of their
  // query, or further behind it, are -inf.
  std::optional<int64_t> ahead, behind;
  bool plain = false;        // without a softmax: operand 0 is the first factor
  std::vector<NodeId> also;  // operations that are done along with it: the softmax's
  bool WorkGrows() const { return ahead && !behind; }  // with the number of the query
  // Or of so many pieces of the keys each by itself: values (rows, pieces, n) that are not divided yet,
  // behind them the largest scores (rows, pieces), to base 2, and sums of exponentials (rows, pieces).
  // `space`: what `sizes` would be of all keys.
  int64_t pieces = 1;

  // kRecurrent: `expr` is the cell ("lstm"); operands are products of the inputs (steps, batch, gates ·
  // size), first state (batch, size), weights (gates · size, size), an LSTM's first cell, biases if there are
  // any.
  bool backwards = false;  // from the last step to the first; kScan: from the last element

  // kWaves: `expr` as for kRecurrent. Of `layers` layers, layer l makes step w - l in wave w; the first one's
  // inputs' products are there. Or `both` directions, of which the second goes from the last step to the
  // first. Operands: products of the inputs (steps, batch, gates · size), first states (layers, batch, size),
  // weights (matrices, size / columns, gates, size, columns), an LSTM's first cells, biases (vectors, gates ·
  // size) if there are any: first all layers' for their own states, then those for the states of the layers
  // below. Result: states (layers, steps, batch, size), of both directions (steps, batch, directions, size),
  // and behind them an LSTM's cells twice, (2, layers, batch, size): step t leaves its own at t % 2.
  int layers = 1;       // or directions
  bool both = false;    // directions of one layer
  int64_t columns = 1;  // numbers of a state that a program makes

  // kFactor: `expr` is what of: "cholesky", "lu", "reflections", "solve_lower", "solve_upper" (and those with
  // "_unit"), "eigen", "singular_values", "singular". Operands (matrices, rows, columns);
  // results as LowerFactor says.

  // kSource and kCall
  NodeRef node{-1, 0};
  bool on_ones = false;  // a call that draws random numbers, made on ones instead of its tensor

  // Its kernel has tiles of (m, n) for each batch.
  bool IsProduct() const { return kind == PrimKind::kMatmul || kind == PrimKind::kAttention; }
  // Elements are made one by one, from operands that a tile holds: pointwise work and indexed loads.
  bool IsElementwise() const { return kind == PrimKind::kPointwise || kind == PrimKind::kLoad; }
  // Takes lines along marked dimensions of `space`, each known to one program.
  bool IsLineWork() const {
    return kind == PrimKind::kReduce || kind == PrimKind::kScan || kind == PrimKind::kCandidates;
  }
  // A kernel of its own, which reads its operands from memory.
  bool IsAlone() const {
    return kind == PrimKind::kRecurrent || kind == PrimKind::kWaves || kind == PrimKind::kFactor;
  }
  // The same elements, in another order or shape.
  bool IsCopy() const { return kind == PrimKind::kPointwise && expr == "{0}"; }
  const std::vector<int64_t>& Shape() const { return shape.empty() ? sizes : shape; }
  // Of a product: (batch…, m…, n).
  const std::vector<int64_t>& TileSizes() const { return pieces > 1 ? space : sizes; }
  // Operands have other numbers: by number before.
  void Rename(const std::vector<PrimId>& renamed);
  int64_t Batches() const;
  int64_t RowsOfBatch() const;
  // Index of the first operand that is read element by element.
  size_t FirstElementwise() const { return kind == PrimKind::kLoad || kind == PrimKind::kScatter ? 1 : 0; }
};

class Graph {
 public:
  std::vector<Prim> prims;      // operands come before their users
  std::vector<View> outputs;    // the tensors among the program's
  std::vector<PrimId> updates;  // sources that the last outputs are copied into when all else is done
  // Values that go into the memory of a source instead of their own. REQUIRES: nothing but the value itself
  // reads that source.
  struct Write {
    PrimId value, to;
  };
  std::vector<Write> writes;

  // Adds a prim, or finds an equal one that is there already.
  PrimId Add(Prim prim);
  const Prim& operator[](PrimId id) const { return prims[id]; }
  View Whole(PrimId id) const { return ContiguousView(id, prims[id].sizes); }
  // Whether a view is all of its value in its own order, in whatever shape. REQUIRES: it is of a value.
  bool IsWhole(const View& view) const {
    return view.IsContiguous() && view.numel() == Product(prims[view.prim].sizes);
  }
  // Drops prims that no output needs and renumbers the rest.
  void RemoveUnused();
  // Outputs and writes speak of the prims that these have become, by their number of before.
  void Rename(const std::vector<PrimId>& renamed);
  // Those of a graph whose prims have become these.
  void TakeResults(const Graph& from, const std::vector<PrimId>& renamed);
  // Copies a graph into this one, prim by prim; `renamed` gets their numbers here. In the place of a prim
  // stands what `replaced` adds instead, if it gives a number. Drops what no output needs then.
  void CopyReplacing(const Graph& from, const std::function<std::optional<PrimId>(PrimId)>& replaced,
                     std::vector<PrimId>* renamed);

 private:
  // Prims by a hash of what nobody changes after Add(): not dtype, not name, not how it is stored.
  std::unordered_map<size_t, std::vector<PrimId>> known_;
};

// What tl.dot multiplies.
bool FitsDot(Dtype dtype);
bool IsHalf(Dtype dtype);
// The dtype that arithmetic on a dtype happens in: half types in float32.
Dtype ComputeDtype(Dtype dtype);
// Shape of an element-wise operation on these shapes. REQUIRES: they broadcast.
std::vector<int64_t> BroadcastSizes(const std::vector<std::vector<int64_t>>& shapes);
// The smallest dtype both can be converted to, as torch.promote_types.
Dtype PromoteTypes(Dtype a, Dtype b);

}  // namespace tritogen::teach
