// Python that a shipped module brings along: what its guards and its launches are made of.
#pragma once

namespace tritogen {

// _Meta and _fits: whether arguments and state are what the kernels were verified with; _only_values,
// _in_order: the call.
extern const char* const kGuards;
// _kept, _file_kept: whether settings, of the file or of a module, are as they were.
extern const char* const kSettings;
// _alike, _parts, _unchanged, _as_written: whether a module was made, and still is made up, as the one that
// was verified.
extern const char* const kMakeGuards;
// _state: parameters and buffers at their _PLACES.
extern const char* const kStateReader;
// _apart: whether what is written shares memory with anything else.
extern const char* const kApart;
// _launch: a launch that Triton has seen before.
extern const char* const kLauncher;
// _scratch: what kernels that make tensor descriptors are launched with.
extern const char* const kScratch;

}  // namespace tritogen
