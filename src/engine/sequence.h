// A request at work: its sequences, and where each of them is.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/engine.h"
#include "engine/sequence_output.h"

namespace tritogen {

struct Group;

struct Sequence {
  enum class Stage : uint8_t {
    kWaiting,  // for its turn, or for the prefill of its group's first sequence
    kPrefill,  // holds blocks for all its tokens
    kReady,    // prefilled; holds blocks, of which others of its group may be holders, too
    kRunning,  // has a slot; the last of its blocks is its own
    kEnded     // what it holds is given back when the steps in flight are done
  };

  // Positions that have their token when the next step runs, counting those that steps in flight draw.
  int32_t end() const { return prompt_tokens + drawn; }
  int32_t prefill_end() const { return prompt_tokens - 1; }

  // What each step looks at comes first.
  Stage stage = Stage::kWaiting;
  int32_t slot = -1;
  int32_t place = -1;  // in the list of those that run
  int32_t prompt_tokens = 0;
  int32_t most = 0;     // tokens to generate
  int32_t drawn = 0;    // of them, counting steps in flight
  int32_t written = 0;  // positions in the cache, counting steps in flight
  int32_t room = 0;     // positions that its blocks hold
  int32_t rows = 0;     // in the step that is being planned
  std::vector<int32_t> blocks;
  std::vector<TokenId> tokens;  // those of the prompt, and the generated ones that are known

  SequenceOutput output;
  Group* group = nullptr;
  int32_t index = 0;
  uint64_t arrival = 0;      // the lower, the earlier its turn
  int32_t remembered = 0;    // so many of its first blocks can be found
  bool memorable = true;     // the next one may be remembered
  bool was_started = false;  // it has had a turn before
};

struct Group {
  RequestId id = 0;
  Request request;  // stop tokens sorted
  std::function<void(Chunk)> on_chunk;
  std::vector<Sequence> sequences;  // never resized
  bool forked = false;              // the others have the blocks of the first one's prefill
  int32_t unreleased = 0;           // sequences that hold something, or will
  int32_t unfinished = 0;           // sequences that have not had their last chunk
};

}  // namespace tritogen
