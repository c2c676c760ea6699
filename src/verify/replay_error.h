// How a replay stops early, inside this folder only: the public face turns it into a value.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "verify/replay.h"

namespace tritogen {

struct ReplayError {
  ReplayFailure failure;
};

// Whose fault it is that a program found too little memory, having asked for no more than it may: on a GPU
// perhaps that of others who use it.
ReplayFailure::Kind OutOfMemoryKind(bool on_gpu);

template <typename... Args>
[[noreturn]] void FailReplay(ReplayFailure::Kind kind, int line, fmt::format_string<Args...> text,
                             Args&&... args) {
  throw ReplayError{{kind, fmt::format(text, std::forward<Args>(args)...), line, std::nullopt}};
}

}  // namespace tritogen
