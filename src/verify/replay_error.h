// How a replay stops early, inside this folder only: the public face turns it into a value.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "verify/replay.h"

namespace tritogen {

struct ReplayError {
  ReplayFailure failure;
};

template <typename... Args>
[[noreturn]] void FailReplay(ReplayFailure::Kind kind, int line, fmt::format_string<Args...> text,
                             Args&&... args) {
  throw ReplayError{{kind, fmt::format(text, std::forward<Args>(args)...), line, std::nullopt}};
}

}  // namespace tritogen
