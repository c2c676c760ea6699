// Blocks of the paged cache: who holds them, and which tokens' keys and values lie in those that are full.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/bpe.h"

namespace tritogen {

// Blocks are numbers from 0. A block is held by one or more sequences or by none. What lies in a remembered
// block can be found again, also when nobody holds it any more, until it is taken for something else: first
// those with nothing to remember, then the one that was released longest ago.
//
// Keys and values depend on all that stands before, and on how it was computed (runner.h). So a block is
// known by its tokens, by how many of them went through prefill, by the prompt's length where keys depend on
// that, and by the block before it, which makes a chain; tokens are compared, a hash only finds the place.
//
// Whoever holds a remembered block holds the whole chain before it and releases it from its end: a block is
// never given away while another one is remembered as standing behind it.
class BlockPool {
 public:
  static constexpr int32_t kNone = -1;

  struct Contents {
    int32_t before = kNone;           // the block of the positions before; kNone: there are none
    std::span<const TokenId> tokens;  // block_tokens of them
    int32_t prefilled = 0;            // so many went through prefill, the others through decode rows
    int32_t stretch = 0;              // PrefillChunk::stretch of the text
  };

  BlockPool(int32_t blocks, int32_t block_tokens);

  int32_t blocks() const { return static_cast<int32_t>(states_.size()); }
  int32_t available() const { return available_; }  // that nobody holds
  int64_t released() const { return released_; }    // how often one became available, ever
  int32_t holders(int32_t block) const { return states_[block].holders; }

  // One that nobody holds, for the caller to hold. REQUIRES: available() > 0.
  int32_t Take();
  void Hold(int32_t block);  // REQUIRES: somebody holds it
  void Release(int32_t block);

  // The block with these contents, held for the caller, or kNone. REQUIRES: the caller holds `before`.
  int32_t Find(const Contents& contents);
  // From now on Find finds this block, which is full. False where it will not: another one has these contents
  // already, or the one before is not remembered. REQUIRES: the caller holds it and all before it.
  bool Remember(int32_t block, const Contents& contents);
  // What lies in the blocks counts no longer; who holds them goes on.
  void Forget();

 private:
  struct State {
    int32_t holders = 0;
    int32_t older = kNone, newer = kNone;  // among those remembered that nobody holds
    int32_t before = kNone;
    int32_t behind = 0;  // remembered blocks that stand behind this one
    int32_t prefilled = 0, stretch = 0;
    bool remembered = false;
    uint64_t key = 0;
  };
  static uint64_t Key(const Contents& contents);
  std::span<TokenId> Tokens(int32_t block);
  bool Has(int32_t block, const Contents& contents);
  void Drop(int32_t block);  // it is remembered no longer
  void Append(int32_t block);
  void Unlink(int32_t block);

  int32_t block_tokens_, available_;
  int64_t released_ = 0;
  std::vector<State> states_;
  std::vector<int32_t> empty_;  // held by nobody, nothing in them
  int32_t oldest_ = kNone, newest_ = kNone;
  std::vector<TokenId> tokens_;  // of remembered blocks; [blocks, block_tokens]
  std::unordered_map<uint64_t, int32_t> by_key_;
};

}  // namespace tritogen
