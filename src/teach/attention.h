// Attention, found in a graph: softmax(work on q·kᵀ)·v, whether a program calls it so or writes it out, and
// the same without the softmax (sigmoids, squares, decay). One kernel makes it with an online softmax (Dao et
// al. 2022, FlashAttention, Algorithm 1), so that no score is stored.
#pragma once

#include <optional>
#include <vector>

#include "teach/graph.h"

namespace tritogen::teach {

struct Attention {
  PrimId result = -1, scores = -1;  // the two products
  View weighed;                     // what the softmax is of: pointwise work on the scores
  bool plain = false;               // no softmax: `weighed` are the weights
  bool safe = false;                // a query all of whose scores are -inf gets zeros; otherwise no number
  std::vector<PrimId> gone;         // the softmax, and casts of its result
};

// Those whose scores and weights nothing else reads, and whose heads a program can hold.
std::vector<Attention> FindAttention(const Graph& graph);

// How far behind its own number a query's last key lies; nothing where that is not known. Keys further on
// have a score of -inf. REQUIRES: `weighed` has elements (batch, queries, keys).
std::optional<int64_t> KeysAhead(const Graph& graph, const View& weighed, int64_t batch, int64_t queries,
                                 int64_t keys);

// The same of keys that come before the query.
std::optional<int64_t> KeysBehind(const Graph& graph, const View& weighed, int64_t batch, int64_t queries,
                                  int64_t keys);

// The same of a result's rows and columns: beyond them it is zero, whatever it is made from.
std::optional<int64_t> KeptAhead(const Graph& graph, const View& result, int64_t batch, int64_t rows,
                                 int64_t columns);
std::optional<int64_t> KeptBehind(const Graph& graph, const View& result, int64_t batch, int64_t rows,
                                  int64_t columns);

// Where a comparison of indices that has just this limit is all that masks the scores: the operand of the
// last work on them that it chooses for keys up to there.
std::optional<size_t> ChosenUpTo(const Graph& graph, const View& weighed, int64_t batch, int64_t queries,
                                 int64_t keys, int64_t limit);

// The keys of all pieces but for the last, which may have fewer: whole blocks of a kernel.
int64_t KeysOfPiece(const Prim& attention);

// The product of attention's scores that a value is, or is made from by pointwise work; -1 where it is not.
// REQUIRES: scores are marked as inlined, as no other product is.
PrimId ScoresBehind(const Graph& graph, PrimId id);

// Whether a value is made from another one by pointwise work.
bool LeadsTo(const Graph& graph, PrimId id, PrimId from);

}  // namespace tritogen::teach
