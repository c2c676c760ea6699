// Python that a shipped module brings along: what its guards and its launches are made of.
#pragma once

namespace tritogen {

// _Meta and _fits: whether arguments and state are what the kernels were verified with.
extern const char* const kGuards;
// _alike, _parts, _unchanged: whether a module was made, and still is made up, as the one that was verified.
extern const char* const kMakeGuards;
// _state: parameters and buffers at their _PLACES.
extern const char* const kStateReader;
// _PREPARED: what modules keep that is made from their weights.
extern const char* const kPrepared;
// _launch: a launch that Triton has seen before.
extern const char* const kLauncher;

}  // namespace tritogen
