// How sequences come from one stage to the next, and what becomes of their blocks.
#include <algorithm>

#include "base/error.h"
#include "engine/scheduler.h"

namespace tritogen {
namespace {

using Stage = Sequence::Stage;

template <typename List>
void InsertByArrival(List* list, Sequence* sequence) {
  const auto at = std::ranges::upper_bound(*list, sequence->arrival, {}, &Sequence::arrival);
  list->insert(at, sequence);
}

}  // namespace

// Takes blocks for all tokens that are known. False: there are too few.
bool Scheduler::Admit(Sequence* sequence) {
  Sequence& s = *sequence;
  if (admitted() > 0 && pool_.released() < admit_after_) return false;
  if (s.tokens.empty()) s.tokens = s.group->request.prompt;
  FindBlocks(&s);
  const int32_t needed = BlocksOf(s.end()) - static_cast<int32_t>(s.blocks.size());
  if (!Fits(needed)) {
    const int32_t missing = needed + static_cast<int32_t>(running_.size()) - pool_.available();
    GiveBack(&s);
    admit_after_ = pool_.released() + missing;
    return false;
  }
  waiting_.pop_front();
  if (!s.was_started) {
    s.was_started = true;
    stats_.prompt_tokens += s.prompt_tokens;
    stats_.cached_prompt_tokens += s.written;
  }
  for (int32_t i = 0; i < needed; ++i) TakeBlock(&s);
  if (!s.group->forked) following_ += static_cast<int32_t>(s.group->sequences.size()) - 1;
  if (s.written >= s.prefill_end()) {
    FinishPrefill(&s);
  } else {
    s.stage = Stage::kPrefill;
    InsertByArrival(&prefilling_, &s);
  }
  return true;
}

void Scheduler::FinishPrefill(Sequence* sequence) {
  sequence->stage = Stage::kReady;
  InsertByArrival(&ready_, sequence);
  if (!sequence->group->forked) Fork(sequence->group);
}

// The prompt's blocks are everybody's; the last of them is copied by whoever writes into it while others hold
// it (Start).
void Scheduler::Fork(Group* group) {
  group->forked = true;
  const Sequence& first = group->sequences.front();
  const auto shared = static_cast<size_t>(BlocksOf(first.prefill_end()));
  for (size_t i = 1; i < group->sequences.size(); ++i) {
    Sequence& s = group->sequences[i];
    s.tokens = group->request.prompt;
    s.blocks.assign(first.blocks.begin(), first.blocks.begin() + static_cast<ptrdiff_t>(shared));
    for (const int32_t block : s.blocks) pool_.Hold(block);
    s.room = static_cast<int32_t>(shared) * limits_.block_tokens;
    s.written = first.prefill_end();
    s.remembered = first.remembered;
    s.memorable = first.memorable;
    s.was_started = true;
    s.stage = Stage::kReady;
    InsertByArrival(&ready_, &s);
    --following_;
  }
}

// Of those that hold blocks, the one that came last gives them back and waits for another turn.
bool Scheduler::Preempt() {
  TRITOGEN_CHECK(!in_flight());
  Sequence* latest = nullptr;
  for (const List* list : {&prefilling_, &ready_, &running_}) {
    for (Sequence* s : *list) {
      if (!s->blocks.empty() && (latest == nullptr || s->arrival > latest->arrival)) latest = s;
    }
  }
  if (latest == nullptr) return false;
  RememberBlocks(latest, latest->written);
  LeaveList(latest);
  GiveBack(latest);
  latest->stage = Stage::kWaiting;
  InsertByArrival(&waiting_, latest);
  admit_after_ = 0;
  ++stats_.preemptions;
  return true;
}

void Scheduler::LeaveList(Sequence* sequence) {
  const bool leads = sequence->index == 0 && !sequence->group->forked;
  switch (sequence->stage) {
    case Stage::kWaiting:
      std::erase(waiting_, sequence);
      admit_after_ = 0;
      break;
    case Stage::kPrefill:
      std::erase(prefilling_, sequence);
      if (leads) following_ -= static_cast<int32_t>(sequence->group->sequences.size()) - 1;
      break;
    case Stage::kReady:
      std::erase(ready_, sequence);
      break;
    case Stage::kRunning:
      running_.back()->place = sequence->place;
      running_[sequence->place] = running_.back();
      running_.pop_back();
      break;
    case Stage::kEnded:
      TRITOGEN_CHECK(false);
  }
}

int32_t Scheduler::StretchOf(const Sequence& sequence) const {
  const bool is_beyond = limits_.stretch_beyond > 0 && sequence.prompt_tokens > limits_.stretch_beyond;
  return is_beyond ? sequence.prompt_tokens : 0;
}

BlockPool::Contents Scheduler::ContentsOf(const Sequence& sequence, int32_t index) const {
  const int32_t size = limits_.block_tokens, first = index * size;
  return {.before = index == 0 ? BlockPool::kNone : sequence.blocks[index - 1],
          .tokens = std::span<const TokenId>(sequence.tokens).subspan(first, size),
          .prefilled = std::clamp(sequence.prefill_end() - first, 0, size),
          .stretch = StretchOf(sequence)};
}

// Of all tokens but the last one, which must go in to be gone on from.
void Scheduler::FindBlocks(Sequence* sequence) {
  Sequence& s = *sequence;
  if (!prefix_cache_) return;
  while (s.room + limits_.block_tokens < s.end()) {
    const int32_t block = pool_.Find(ContentsOf(s, s.remembered));
    if (block == BlockPool::kNone) break;
    s.blocks.push_back(block);
    s.room += limits_.block_tokens;
    ++s.remembered;
  }
  s.written = s.room;
}

void Scheduler::RememberBlocks(Sequence* sequence, int32_t positions) {
  Sequence& s = *sequence;
  if (!prefix_cache_) return;
  while (s.memorable && (s.remembered + 1) * limits_.block_tokens <= positions) {
    s.memorable = pool_.Remember(s.blocks[s.remembered], ContentsOf(s, s.remembered));
    if (s.memorable) ++s.remembered;
  }
}

void Scheduler::TakeBlock(Sequence* sequence) {
  sequence->blocks.push_back(pool_.Take());
  sequence->room += limits_.block_tokens;
}

// From the last to the first, as BlockPool wants it.
void Scheduler::GiveBack(Sequence* sequence) {
  for (; !sequence->blocks.empty(); sequence->blocks.pop_back()) pool_.Release(sequence->blocks.back());
  if (sequence->slot >= 0) free_slots_.push_back(sequence->slot);
  sequence->slot = -1;
  sequence->room = sequence->written = sequence->remembered = 0;
  sequence->memorable = true;
}

}  // namespace tritogen
