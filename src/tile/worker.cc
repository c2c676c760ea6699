#include "tile/worker.h"

#include <algorithm>
#include <new>
#include <thread>

namespace tritogen::tile {
namespace {

constexpr size_t kMaxWaitingBytes = size_t{1} << 30;  // arenas of programs set aside, per worker

}  // namespace

Worker::Arena Worker::NewArena() {
  if (spare_) return std::move(spare_);
  Arena arena(
      static_cast<std::byte*>(std::aligned_alloc(64, std::max<size_t>(launch_.kernel_.arena_bytes, 64))));
  if (!arena) throw std::bad_alloc();
  return arena;
}

std::optional<Worker::Waiting> Worker::StartNext() {
  if ((waiting_.size() + 1) * launch_.kernel_.arena_bytes > kMaxWaitingBytes && !waiting_.empty())
    return std::nullopt;
  if (launch_.next_turn_.load(std::memory_order_relaxed) >= launch_.programs_) return std::nullopt;
  if (launch_.kernel_.spins && launch_.IsFull()) return std::nullopt;
  const uint64_t turn = launch_.next_turn_.fetch_add(1, std::memory_order_relaxed);
  if (turn >= launch_.programs_) return std::nullopt;
  if (launch_.kernel_.spins) ++launch_.resident_;
  Waiting program{.context = {}, .arena = NewArena()};
  std::memcpy(program.arena.get(), launch_.image_.data(), launch_.image_.size());
  Context& c = program.context;
  c.launch = &launch_;
  c.arena = program.arena.get();
  c.program = static_cast<uint32_t>(launch_.ProgramOfTurn(turn));
  c.id = launch_.ProgramId(c.program);
  SyncTracker* const tracker = launch_.tracker();
  c.segments.first = tracker != nullptr ? tracker->NewSegment(c.program, Threads::kFirst) : c.program + 1;
  c.stamp = ~uint32_t{0};  // of no block: the first is of a new one
  launch_.MeetLanes(c);
  return program;
}

bool Worker::Step() {
  const uint64_t changes = launch_.changes_.load(std::memory_order_acquire);
  if (waiting_.empty() || waiting_.front().changes == changes) {
    if (std::optional<Waiting> program = StartNext()) {
      Resume(std::move(*program));
      return true;
    }
  }
  if (waiting_.empty()) return false;
  const bool all_stuck = std::all_of(waiting_.begin(), waiting_.end(),
                                     [&](const Waiting& w) { return w.stuck && w.changes == changes; });
  if (all_stuck) {
    Idle(changes);
    return true;
  }
  Waiting program = std::move(waiting_.front());
  waiting_.pop_front();
  Resume(std::move(program));
  return true;
}

void Worker::Resume(Waiting program) {
  Context& c = program.context;
  const auto& code = launch_.kernel_.code;
  c.suspend = false;
  const uint64_t before = launch_.changes_.load(std::memory_order_acquire);
  while (c.pc < code.size() && !c.suspend) {
    const Instruction& instruction = *code[c.pc++];
    if ((++c.steps & 63) == 0) launch_.CheckDeadline(c, instruction);
    instruction.Run(c);
  }
  if (!c.suspend) {
    spare_ = std::move(program.arena);
    if (launch_.kernel_.spins) --launch_.resident_;
    return;
  }
  // The same state in the same memory as last time: it will go round for ever unless somebody else writes.
  const bool unchanged =
      before == program.changes && launch_.changes_.load(std::memory_order_acquire) == before;
  const uint64_t state = unchanged ? HashState(c) : 0;
  program.stuck = unchanged && state == program.state;
  program.state = state;
  program.changes = before;
  waiting_.push_back(std::move(program));
}

uint64_t Worker::HashState(const Context& c) const {
  uint64_t hash = c.pc | 1;
  for (size_t i = 0; i + 8 <= launch_.kernel_.arena_bytes; i += 8) {
    hash = (hash ^ LoadAs<uint64_t>(c.arena + i)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash | 1;
}

void Worker::Idle(uint64_t changes) {
  const Waiting& first = waiting_.front();
  const Instruction& at = *launch_.kernel_.code[first.context.pc];
  launch_.idle_at_[index_] = changes;
  while (launch_.changes_.load(std::memory_order_acquire) == changes && !launch_.stop_) {
    const bool nobody =
        std::all_of(launch_.idle_at_.begin(), launch_.idle_at_.end(),
                    [&](const std::atomic<uint64_t>& idle) { return idle == changes || idle == kGone; });
    if (nobody && launch_.changes_.load(std::memory_order_acquire) == changes) {
      Fail(first.context, at, FaultKind::kDeadlock, "deadlock",
           launch_.IsFull() ? "every program that a GPU holds at once waits for one that comes later"
                            : "every program that is left waits for another one");
    }
    launch_.CheckDeadline(first.context, at);
    std::this_thread::yield();
  }
  launch_.idle_at_[index_] = kNotIdle;
}

}  // namespace tritogen::tile
