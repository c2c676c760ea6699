#include "judge/judge_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "base/frame.h"

namespace tritogen {
namespace {

using nlohmann::json;

constexpr int kIdleMilliseconds = 1;

// Until something can be read or written, or there is nothing to do meanwhile.
void Await(int fd, short events, Idle* idle) {
  pollfd one{fd, events, 0};
  while (idle != nullptr && *idle && poll(&one, 1, kIdleMilliseconds) <= 0) {
    if (!(*idle)()) *idle = nullptr;
  }
}

bool ReadExactly(int fd, size_t bytes, Idle* idle, std::string* out) {
  const size_t wanted = out->size() + bytes;
  while (out->size() < wanted) {
    char chunk[65536];
    Await(fd, POLLIN, idle);
    const ssize_t count = read(fd, chunk, std::min(sizeof(chunk), wanted - out->size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    out->append(chunk, count);
  }
  return true;
}

}  // namespace

void SetPatience(int fd, std::chrono::milliseconds patience) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timeval time{seconds.count(), std::chrono::microseconds(patience - seconds).count()};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

bool SendFrame(int fd, const json& message, Idle* idle) {
  const std::string frame = EncodeFrame(message);
  for (std::string_view rest = frame; !rest.empty();) {
    Await(fd, POLLOUT, idle);
    const int flags = idle != nullptr && *idle ? MSG_DONTWAIT : 0;  // no more than there is room for
    const ssize_t count = send(fd, rest.data(), rest.size(), flags);
    if (count < 0 && (errno == EINTR || (errno == EAGAIN && flags != 0))) continue;
    if (count <= 0) return false;
    rest.remove_prefix(count);
  }
  return true;
}

std::optional<json> ReceiveFrame(int fd, Idle* idle) {
  std::string frame;
  if (!ReadExactly(fd, kFrameHeaderBytes, idle, &frame)) return std::nullopt;
  if (!ReadExactly(fd, FrameBodyBytes(frame), idle, &frame)) return std::nullopt;
  return DecodeFrame(frame);
}

}  // namespace tritogen
