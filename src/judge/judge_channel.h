// Frames between a JudgePool and its judge processes.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

namespace tritogen {

// What a judge does while it waits: called every millisecond until it gives false. Must not throw.
using Idle = std::function<bool()>;

// From now on nobody waits at this end for longer than that while nothing moves: a frame that was begun and
// does not go on is taken as the other end's death.
void SetPatience(int fd, std::chrono::milliseconds patience);

// Both block and go on calling `idle` while they do; one that has had enough is emptied. False or nothing:
// the other end is gone, patience is over, or what came is no frame (then FormatError is possible, too).
bool SendFrame(int fd, const nlohmann::json& message, Idle* idle = nullptr);
std::optional<nlohmann::json> ReceiveFrame(int fd, Idle* idle = nullptr);

}  // namespace tritogen
