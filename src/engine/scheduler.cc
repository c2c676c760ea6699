#include "engine/scheduler.h"

#include <algorithm>

#include "base/error.h"

namespace tritogen {
namespace {

int32_t AtMost(int32_t limit, int32_t option) {
  return option > 0 ? std::min(limit, option) : limit;
}

}  // namespace

int32_t LongestSequence(const RunnerLimits& limits) {
  return static_cast<int32_t>(
      std::min<int64_t>(limits.context, int64_t{limits.blocks} * limits.block_tokens));
}

Scheduler::Scheduler(const RunnerLimits& limits, const EngineOptions& options)
    : limits_(limits),
      prefix_cache_(options.prefix_cache),
      prefill_tokens_(AtMost(limits.prefill_tokens, options.prefill_tokens)),
      most_running_(std::min(limits.slots, limits.decode_rows)),
      pool_(limits.blocks, limits.block_tokens) {
  TRITOGEN_CHECK(prefill_tokens_ > 0 && most_running_ > 0 && limits.block_tokens > 0);
  for (int32_t slot = limits.slots - 1; slot >= 0; --slot) free_slots_.push_back(slot);
}

void Scheduler::Add(std::unique_ptr<Group> group) {
  for (Sequence& sequence : group->sequences) sequence.arrival = arrivals_++;
  group->unreleased = static_cast<int32_t>(group->sequences.size());
  live_ += group->unreleased;
  waiting_.push_back(&group->sequences.front());
  const RequestId id = group->id;
  groups_.emplace(id, std::move(group));
}

Group* Scheduler::Find(RequestId id) const {
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : found->second.get();
}

std::vector<Group*> Scheduler::groups() const {
  std::vector<Group*> groups;
  for (const auto& [id, group] : groups_) groups.push_back(group.get());
  return groups;
}

void Scheduler::End(Sequence* sequence) {
  LeaveList(sequence);
  sequence->stage = Sequence::Stage::kEnded;
  leaving_.push_back({planned_, sequence});
  --live_;
}

bool Scheduler::Plan(PlannedStep* planned) {
  Batch& batch = planned->batch;
  batch.starts.clear();
  batch.copies.clear();
  batch.prefill.clear();
  batch.decode.clear();
  planned->sampled.clear();
  chunked_.clear();
  ReleaseLeaving();
  do {
    if (!Grow()) return false;
    StartReady(&batch);
    AddPrefill(&batch);
    StartReady(&batch);  // those whose prompts were found whole
    AddDecodeRows(planned);
    FinishChunks();
    if (batch.prefill.empty() && batch.decode.empty()) continue;
    ++planned_;
    ++stats_.steps;
    return true;
  } while (!in_flight() && Preempt());
  return false;
}

void Scheduler::StepDone() {
  TRITOGEN_CHECK(in_flight());
  ++done_;
  ReleaseLeaving();
}

void Scheduler::ReleaseLeaving() {
  while (!leaving_.empty() && leaving_.front().step <= done_) {
    Sequence* sequence = leaving_.front().sequence;
    leaving_.pop_front();
    GiveBack(sequence);
    if (--sequence->group->unreleased == 0) groups_.erase(sequence->group->id);
  }
}

// Says how many rows each running sequence gets, and sees to their blocks.
bool Scheduler::Grow() {
  for (bool enough = false; !enough;) {
    enough = true;
    spare_rows_ = limits_.decode_rows - static_cast<int32_t>(running_.size());
    for (Sequence* sequence : running_) {
      Sequence& s = *sequence;
      s.rows = s.drawn < s.most ? std::min(s.end() - s.written, 1 + spare_rows_) : 0;
      if (s.rows > 1) spare_rows_ -= s.rows - 1;
      if (s.written + s.rows <= s.room) continue;
      enough = pool_.available() > 0;
      if (!enough) break;
      TakeBlock(&s);
    }
    if (enough) break;
    if (in_flight()) return false;  // sequences may have ended; and no token may be on its way to a victim
    TRITOGEN_CHECK(Preempt());
  }
  return true;
}

void Scheduler::StartReady(Batch* batch) {
  ready_needs_blocks_ = false;
  size_t started = 0;
  for (; started < ready_.size(); ++started) {
    if (free_slots_.empty() || spare_rows_ == 0 || static_cast<int32_t>(running_.size()) == most_running_)
      break;
    Sequence* s = ready_[started];
    if (WaitsForTwins(started)) break;
    const bool copies = s->written % limits_.block_tokens != 0 &&
                        pool_.holders(s->blocks[s->written / limits_.block_tokens]) > 1;
    const int32_t needed = static_cast<int32_t>(copies) + static_cast<int32_t>(s->room < s->end());
    ready_needs_blocks_ = needed > 0 && !Fits(needed);
    if (ready_needs_blocks_) break;
    Start(s, copies, batch);
  }
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<ptrdiff_t>(started));
}

// Of a group that is as it was forked, until there are slots for all of it. `place`: in ready_.
bool Scheduler::WaitsForTwins(size_t place) const {
  const Group* group = ready_[place]->group;
  if (!limits_.finds_twins || (place > 0 && ready_[place - 1]->group == group)) return false;
  size_t together = 1;
  while (place + together < ready_.size() && ready_[place + together]->group == group) ++together;
  const size_t free = std::min(free_slots_.size(), static_cast<size_t>(most_running_) - running_.size());
  return free < std::min(together, static_cast<size_t>(most_running_));
}

void Scheduler::Start(Sequence* sequence, bool copies, Batch* batch) {
  Sequence& s = *sequence;
  if (copies) {
    int32_t& block = s.blocks[s.written / limits_.block_tokens];
    const int32_t own = pool_.Take();
    batch->copies.push_back({.from = block, .to = own});
    pool_.Release(block);
    block = own;
  }
  if (s.room < s.end()) TakeBlock(&s);
  s.slot = free_slots_.back();
  free_slots_.pop_back();
  SamplingOptions sampling = s.group->request.options.sampling;
  sampling.seed = SequenceSeed(sampling.seed, s.index);
  batch->starts.push_back(
      {.slot = s.slot, .sampling = sampling, .seen = s.tokens, .prompt_tokens = s.prompt_tokens});
  s.stage = Sequence::Stage::kRunning;
  s.place = static_cast<int32_t>(running_.size());
  running_.push_back(&s);
  s.rows = std::min(s.end() - s.written, spare_rows_);
  spare_rows_ -= s.rows;
}

void Scheduler::AddPrefill(Batch* batch) {
  int32_t budget = prefill_tokens_;
  for (Sequence* sequence : prefilling_) {
    if (budget == 0) break;
    AddChunk(sequence, &budget, batch);
  }
  while (budget > 0 && !waiting_.empty() && !ready_needs_blocks_ && admitted() < most_running_) {
    Sequence* sequence = waiting_.front();
    if (!Admit(sequence)) break;
    if (sequence->stage == Sequence::Stage::kPrefill) AddChunk(sequence, &budget, batch);
  }
}

void Scheduler::AddChunk(Sequence* sequence, int32_t* budget, Batch* batch) {
  Sequence& s = *sequence;
  const int32_t tokens = std::min(*budget, s.prefill_end() - s.written);
  *budget -= tokens;
  const auto first = static_cast<size_t>(s.written);
  s.written += tokens;
  batch->prefill.push_back(
      {.start = s.written - tokens,
       .tokens = std::span<const TokenId>(s.tokens).subspan(first, static_cast<size_t>(tokens)),
       .blocks = std::span<const int32_t>(s.blocks).first(static_cast<size_t>(BlocksOf(s.written))),
       .stretch = StretchOf(s)});
  chunked_.push_back(&s);
}

void Scheduler::AddDecodeRows(PlannedStep* planned) {
  for (Sequence* sequence : running_) {
    Sequence& s = *sequence;
    const int32_t end = s.end(), known = static_cast<int32_t>(s.tokens.size());
    for (; s.rows > 0; --s.rows) {
      const int32_t position = s.written++;
      const std::span<const int32_t> blocks = s.blocks;
      DecodeRow& row = planned->batch.decode.emplace_back();
      row.slot = s.slot;
      row.position = position;
      if (position < known) row.token = s.tokens[position];
      row.blocks = blocks.first(static_cast<size_t>(position / limits_.block_tokens) + 1);
      if (s.written < end) continue;
      row.draw = s.drawn++;
      planned->sampled.push_back(&s);
    }
  }
}

// What the step fills can be found by later ones only, and its copies come before its prefill.
void Scheduler::FinishChunks() {
  for (Sequence* sequence : chunked_) {
    RememberBlocks(sequence, sequence->written);
    if (sequence->written == sequence->prefill_end()) {
      std::erase(prefilling_, sequence);
      FinishPrefill(sequence);
    }
  }
}

void Scheduler::Forget() {
  TRITOGEN_CHECK(!in_flight());
  pool_.Forget();
  for (const auto& [id, group] : groups_) {
    for (Sequence& sequence : group->sequences) {
      sequence.remembered = 0;
      sequence.memorable = sequence.blocks.empty();
    }
  }
}

int32_t Scheduler::admitted() const {
  return static_cast<int32_t>(prefilling_.size() + ready_.size() + running_.size()) + following_;
}

void Scheduler::AddTo(EngineStats* stats) const {
  stats->running = static_cast<int64_t>(prefilling_.size() + ready_.size() + running_.size());
  stats->waiting = live_ - stats->running;
  stats->prompt_tokens = stats_.prompt_tokens;
  stats->cached_prompt_tokens = stats_.cached_prompt_tokens;
  stats->steps = stats_.steps;
  stats->preemptions = stats_.preemptions;
  stats->blocks = pool_.blocks();
  stats->blocks_used = pool_.blocks() - pool_.available();
}

}  // namespace tritogen
