// From a request to its sequences.
#pragma once

#include <memory>

#include "engine/sequence.h"

namespace tritogen {

// Throws UserError, as Generator::Submit, for what can never run.
std::unique_ptr<Group> MakeGroup(RequestId id, Request request, std::function<void(Chunk)> on_chunk,
                                 const RunnerLimits& limits, const Tokenizer* tokenizer);

}  // namespace tritogen
