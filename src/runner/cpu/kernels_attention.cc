// Attention of one position's queries over the blocks of its sequence: scores, softmax, mean of the values.
#include "runner/cpu/isa.h"

namespace tritogen::cpu::TRITOGEN_ISA {
namespace {

constexpr int64_t kVecs = kBlockTokens / kLanes;  // vectors in a block's tokens, and in a piece of values
constexpr int64_t kHeadsAtOnce = 4;
// Blocks of keys, and pieces of a value, at once: enough sums that none waits for the one before it, and no
// more than there are registers for.
constexpr int64_t kPieces = kLanes == 16 ? 4 : 1;

template <typename T>
const T* Head(const Attention& a, int64_t block) {
  return reinterpret_cast<const T*>(a.cache + a.blocks[block] * a.block_bytes);
}

int64_t Blocks(const Attention& a) {
  return (a.positions + kBlockTokens - 1) / kBlockTokens;
}

// What is fetched ahead while `count` blocks are read: each block is a page of its own, where the CPU does
// not look ahead by itself. Behind the last one it is the block again.
template <typename T>
const T* NextHead(const Attention& a, int64_t block, int64_t count) {
  return Head<T>(a, block + count < Blocks(a) ? block + count : block);
}

// Scores of kHeads queries from `head` on, for kCount blocks from `block` on.
template <typename T, int64_t kHeads, int64_t kCount>
void ScoresOf(const Attention& a, int64_t head, int64_t block) {
  const int64_t stride = Blocks(a) * kBlockTokens;
  const float* queries = a.queries + head * a.head_dim;
  const T* keys[kCount];
  for (int64_t b = 0; b < kCount; ++b) keys[b] = Head<T>(a, block + b);
  const T* next = NextHead<T>(a, block, kCount);
  Vec sums[kHeads][kCount * kVecs];
  Clear(sums);
  for (int64_t d = 0; d < a.head_dim; ++d) {
    __builtin_prefetch(next + d * kBlockTokens);
#pragma GCC unroll 16
    for (int64_t v = 0; v < kCount * kVecs; ++v) {
      const Vec key = Load(keys[v / kVecs] + d * kBlockTokens + v % kVecs * kLanes);
#pragma GCC unroll 4
      for (int64_t h = 0; h < kHeads; ++h) sums[h][v] += queries[h * a.head_dim + d] * key;
    }
  }
  for (int64_t h = 0; h < kHeads; ++h) {
    float* scores = a.scores + (head + h) * stride + block * kBlockTokens;
    for (int64_t v = 0; v < kCount * kVecs; ++v) Store(scores + v * kLanes, sums[h][v]);
  }
}

template <typename T, int64_t kHeads>
void Scores(const Attention& a, int64_t head) {
  int64_t block = 0;
  for (; block + kPieces <= Blocks(a); block += kPieces) ScoresOf<T, kHeads, kPieces>(a, head, block);
  for (; block < Blocks(a); ++block) ScoresOf<T, kHeads, 1>(a, head, block);
}

// Scores become weights whose sum is 1; those of places after the last position, 0.
void Softmax(const Attention& a, int64_t head) {
  const int64_t padded = Blocks(a) * kBlockTokens;
  float* scores = a.scores + head * padded;
  for (int64_t i = a.positions; i < padded; ++i) scores[i] = -3e38f;
  Vec greatest = All(-3e38f);
  for (int64_t i = 0; i < padded; i += kLanes) greatest = Max(greatest, Load(scores + i));
  float most = -3e38f;
  for (int lane = 0; lane < kLanes; ++lane) most = greatest[lane] > most ? greatest[lane] : most;
  Vec sums = {};
  for (int64_t i = 0; i < padded; i += kLanes) {
    const Vec weights = Exp(Load(scores + i) - most);
    Store(scores + i, weights);
    sums += weights;
  }
  const float scale = 1 / Sum(sums);
  for (int64_t i = 0; i < padded; i += kLanes) Store(scores + i, Load(scores + i) * scale);
}

// kHeads results in kCount pieces, of kBlockTokens dimensions each, from `dim` on.
template <typename T, int64_t kHeads, int64_t kCount>
void ValuesOf(const Attention& a, int64_t head, int64_t dim) {
  const int64_t stride = Blocks(a) * kBlockTokens, width = PaddedDim(a.head_dim);
  const float* weights = a.scores + head * stride;
  Vec sums[kHeads][kCount * kVecs];
  Clear(sums);
  for (int64_t position = 0; position < a.positions; position += kBlockTokens) {
    const int64_t block = position / kBlockTokens, start = a.head_dim * kBlockTokens + dim;
    const T *values = Head<T>(a, block) + start, *next = NextHead<T>(a, block, 1) + start;
    const int64_t left = a.positions - position;
    for (int64_t t = 0; t < (left < kBlockTokens ? left : kBlockTokens); ++t) {
      __builtin_prefetch(next + t * width);
#pragma GCC unroll 16
      for (int64_t v = 0; v < kCount * kVecs; ++v) {
        const Vec value = Load(values + t * width + v * kLanes);
#pragma GCC unroll 4
        for (int64_t h = 0; h < kHeads; ++h) sums[h][v] += weights[h * stride + position + t] * value;
      }
    }
  }
  for (int64_t h = 0; h < kHeads; ++h) {
    float out[kCount * kBlockTokens];
    for (int64_t v = 0; v < kCount * kVecs; ++v) Store(out + v * kLanes, sums[h][v]);
    const int64_t most = a.head_dim - dim,
                  count = most < kCount * kBlockTokens ? most : kCount * kBlockTokens;
    for (int64_t i = 0; i < count; ++i) a.out[(head + h) * a.head_dim + dim + i] = out[i];
  }
}

template <typename T, int64_t kHeads>
void Values(const Attention& a, int64_t head) {
  constexpr int64_t kWide = kPieces * kBlockTokens;
  int64_t dim = 0;
  for (; dim + kWide <= PaddedDim(a.head_dim); dim += kWide) ValuesOf<T, kHeads, kPieces>(a, head, dim);
  for (; dim < a.head_dim; dim += kBlockTokens) ValuesOf<T, kHeads, 1>(a, head, dim);
}

template <typename T, int64_t kHeads>
void Heads(const Attention& a, int64_t head) {
  Scores<T, kHeads>(a, head);
  for (int64_t h = 0; h < kHeads; ++h) Softmax(a, head + h);
  Values<T, kHeads>(a, head);
}

template <typename T>
void AttendIn(const Attention& a) {
  int64_t head = 0;
  for (; head + kHeadsAtOnce <= a.group; head += kHeadsAtOnce) Heads<T, kHeadsAtOnce>(a, head);
  switch (a.group - head) {
    case 3:
      return Heads<T, 3>(a, head);
    case 2:
      return Heads<T, 2>(a, head);
    case 1:
      return Heads<T, 1>(a, head);
  }
}

}  // namespace

void Attend(const Attention& attention, Element element) {
  if (element == Element::kBFloat16) return AttendIn<BFloat16>(attention);
  AttendIn<float>(attention);
}

}  // namespace tritogen::cpu::TRITOGEN_ISA
