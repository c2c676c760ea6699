// Frames between a JudgePool and its judge processes.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace tritogen {

// What a judge does while it waits: called every millisecond until it gives false. Must not throw.
using Idle = std::function<bool()>;

// Both block and go on calling `idle` while they do; one that has had enough is emptied. False or nothing:
// the other end is gone, or what came is no frame (then FormatError is possible, too).
bool SendFrame(int fd, const nlohmann::json& message, Idle* idle = nullptr);
std::optional<nlohmann::json> ReceiveFrame(int fd, Idle* idle = nullptr);

// The same, but a frame that is not through after that long, however steadily it drips, is taken as the other
// end's death.
bool SendFrame(int fd, const nlohmann::json& message, std::chrono::milliseconds patience);
bool SendEncoded(int fd, std::string_view frame, std::chrono::milliseconds patience);
std::optional<nlohmann::json> ReceiveFrame(int fd, std::chrono::milliseconds patience);

}  // namespace tritogen
