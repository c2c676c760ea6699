#include "engine/block_pool.h"

#include <algorithm>

#include "base/error.h"
#include "base/splitmix.h"

namespace tritogen {

BlockPool::BlockPool(int32_t blocks, int32_t block_tokens)
    : block_tokens_(block_tokens),
      available_(blocks),
      states_(static_cast<size_t>(blocks)),
      tokens_(static_cast<size_t>(blocks) * static_cast<size_t>(block_tokens)) {
  for (int32_t block = blocks - 1; block >= 0; --block) empty_.push_back(block);
}

int32_t BlockPool::Take() {
  TRITOGEN_CHECK(available_ > 0);
  int32_t block = oldest_;
  if (!empty_.empty()) {
    block = empty_.back();
    empty_.pop_back();
  } else {
    Unlink(block);
    Drop(block);
  }
  --available_;
  states_[block].holders = 1;
  return block;
}

void BlockPool::Hold(int32_t block) {
  TRITOGEN_CHECK(states_[block].holders > 0);
  ++states_[block].holders;
}

void BlockPool::Release(int32_t block) {
  State& state = states_[block];
  TRITOGEN_CHECK(state.holders > 0);
  if (--state.holders > 0) return;
  ++available_;
  ++released_;
  if (state.remembered)
    Append(block);
  else
    empty_.push_back(block);
}

int32_t BlockPool::Find(const Contents& contents) {
  const auto found = by_key_.find(Key(contents));
  if (found == by_key_.end() || !Has(found->second, contents)) return kNone;
  const int32_t block = found->second;
  if (states_[block].holders++ == 0) {
    Unlink(block);
    --available_;
  }
  return block;
}

bool BlockPool::Remember(int32_t block, const Contents& contents) {
  State& state = states_[block];
  TRITOGEN_CHECK(state.holders > 0 && !state.remembered);
  TRITOGEN_CHECK(contents.tokens.size() == static_cast<size_t>(block_tokens_));
  if (contents.before != kNone && !states_[contents.before].remembered) return false;
  const uint64_t key = Key(contents);
  if (!by_key_.emplace(key, block).second) return false;
  state.remembered = true;
  state.key = key;
  state.before = contents.before;
  state.prefilled = contents.prefilled;
  state.stretch = contents.stretch;
  if (contents.before != kNone) ++states_[contents.before].behind;
  std::ranges::copy(contents.tokens, Tokens(block).begin());
  return true;
}

void BlockPool::Forget() {
  while (oldest_ != kNone) {
    const int32_t block = oldest_;
    Unlink(block);
    empty_.push_back(block);
  }
  by_key_.clear();
  for (State& state : states_) {
    state.remembered = false;
    state.before = kNone;
    state.behind = 0;
  }
}

uint64_t BlockPool::Key(const Contents& contents) {
  uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(contents.before)) << 32 |
                 static_cast<uint32_t>(contents.prefilled);
  key = SplitMix::Mix(key) + static_cast<uint64_t>(static_cast<uint32_t>(contents.stretch));
  for (const TokenId token : contents.tokens)
    key = SplitMix::Mix(key + static_cast<uint64_t>(static_cast<uint32_t>(token)));
  return key;
}

std::span<TokenId> BlockPool::Tokens(int32_t block) {
  const auto size = static_cast<size_t>(block_tokens_);
  return std::span(tokens_).subspan(static_cast<size_t>(block) * size, size);
}

bool BlockPool::Has(int32_t block, const Contents& contents) {
  const State& state = states_[block];
  return state.before == contents.before && state.prefilled == contents.prefilled &&
         state.stretch == contents.stretch && std::ranges::equal(Tokens(block), contents.tokens);
}

void BlockPool::Drop(int32_t block) {
  State& state = states_[block];
  TRITOGEN_CHECK(state.behind == 0);
  by_key_.erase(state.key);
  if (state.before != kNone) --states_[state.before].behind;
  state.remembered = false;
  state.before = kNone;
}

void BlockPool::Append(int32_t block) {
  State& state = states_[block];
  state.older = newest_;
  state.newer = kNone;
  (newest_ == kNone ? oldest_ : states_[newest_].newer) = block;
  newest_ = block;
}

void BlockPool::Unlink(int32_t block) {
  const State& state = states_[block];
  (state.older == kNone ? oldest_ : states_[state.older].newer) = state.newer;
  (state.newer == kNone ? newest_ : states_[state.newer].older) = state.older;
}

}  // namespace tritogen
