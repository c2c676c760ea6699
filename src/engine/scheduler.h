// Which sequences take part in the next step, and who gives way when the cache is full. docs/engine.md tells
// how; nothing here knows of threads, of text, or of what the device computes.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "base/rounding.h"
#include "engine/block_pool.h"
#include "engine/sequence.h"

namespace tritogen {

struct PlannedStep {
  Batch batch;
  std::vector<Sequence*> sampled;  // whose rows draw, in order
};

// Steps are planned one after another; a planned step counts as in flight until StepDone. Not thread-safe.
class Scheduler {
 public:
  Scheduler(const RunnerLimits& limits, const EngineOptions& options);

  // REQUIRES: it fits (LongestSequence).
  void Add(std::unique_ptr<Group> group);
  Group* Find(RequestId id) const;  // nullptr: unknown, or over
  // Takes a sequence out; before its group is forked, all of them, the first one first. A group is gone some
  // Plan or StepDone after the last of its sequences has ended.
  void End(Sequence* sequence);

  // False: nothing can be done before the steps in flight are done; without any, nothing at all. What the
  // step points at stays until the next call of anything.
  bool Plan(PlannedStep* planned);
  void StepDone();  // the oldest in flight
  // The token that a step in flight drew. REQUIRES: the sequence is not ended.
  void Drawn(Sequence* sequence, TokenId token) { sequence->tokens.push_back(token); }

  // Keys and values of other weights are not to be found any more. REQUIRES: no step in flight.
  void Forget();

  bool idle() const { return live_ == 0; }  // no sequence that is not ended
  void AddTo(EngineStats* stats) const;
  std::vector<Group*> groups() const;

 private:
  using List = std::vector<Sequence*>;

  bool in_flight() const { return planned_ > done_; }
  // Parts of Plan, in this order.
  bool Grow();
  void StartReady(Batch* batch);
  bool WaitsForTwins(size_t place) const;
  void Start(Sequence* sequence, bool copies, Batch* batch);
  void AddPrefill(Batch* batch);
  void AddChunk(Sequence* sequence, int32_t* budget, Batch* batch);
  void AddDecodeRows(PlannedStep* planned);
  void FinishChunks();
  // Moves between the stages.
  bool Admit(Sequence* sequence);
  void FinishPrefill(Sequence* sequence);
  void Fork(Group* group);
  bool Preempt();
  void LeaveList(Sequence* sequence);
  void ReleaseLeaving();
  // Blocks of a sequence.
  void FindBlocks(Sequence* sequence);
  void RememberBlocks(Sequence* sequence, int32_t positions);
  void TakeBlock(Sequence* sequence);
  void GiveBack(Sequence* sequence);

  int32_t BlocksOf(int32_t positions) const { return CeilDiv(positions, limits_.block_tokens); }
  int32_t StretchOf(const Sequence& sequence) const;
  BlockPool::Contents ContentsOf(const Sequence& sequence, int32_t index) const;
  int32_t admitted() const;
  // Beside so many blocks, one is left for each sequence that runs.
  bool Fits(int32_t blocks) const {
    return blocks + static_cast<int32_t>(running_.size()) <= pool_.available();
  }

  const RunnerLimits limits_;
  const bool prefix_cache_;
  const int32_t prefill_tokens_;  // in a step
  const int32_t most_running_;
  BlockPool pool_;
  std::vector<int32_t> free_slots_;

  // Each in the order of arrival, but for those that run.
  std::deque<Sequence*> waiting_;
  List prefilling_, ready_, running_;
  int32_t following_ = 0;   // sequences that wait for the prefill of one in prefilling_
  int32_t spare_rows_ = 0;  // of the step that is being planned
  bool ready_needs_blocks_ = false;
  int64_t admit_after_ = 0;  // so many blocks must have been released before another attempt

  List chunked_;                    // those with a chunk in the step that is being planned
  int64_t planned_ = 0, done_ = 0;  // steps
  struct Leaving {
    int64_t step;  // is done before what the sequence holds is given back
    Sequence* sequence;
  };
  std::deque<Leaving> leaving_;
  std::unordered_map<RequestId, std::unique_ptr<Group>> groups_;
  uint64_t arrivals_ = 0;
  int64_t live_ = 0;
  EngineStats stats_;
};

// Positions that one sequence can have at most: the context, or what the cache holds.
int32_t LongestSequence(const RunnerLimits& limits);

}  // namespace tritogen
