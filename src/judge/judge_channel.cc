#include "judge/judge_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "base/frame.h"

namespace tritogen {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kIdleMilliseconds = 1;

// How one end waits for the other.
struct Waiting {
  Idle* idle = nullptr;
  std::optional<Clock::time_point> until;

  bool blocks() const { return !until && (idle == nullptr || !*idle); }
  // Until something can be read or written. False: it is too late. Where nothing else is to be done, nor a
  // time to be kept, the call itself waits.
  bool Await(int fd, short events) {
    pollfd one{fd, events, 0};
    while (idle != nullptr && *idle && poll(&one, 1, kIdleMilliseconds) <= 0) {
      if (!(*idle)()) *idle = nullptr;
    }
    if (!until) return true;
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
      const int ready = poll(&one, 1, static_cast<int>(std::max<int64_t>(0, left)));
      if (ready > 0) return true;
      if (left <= 0 || (ready < 0 && errno != EINTR)) return false;
    }
  }
};

bool ReadExactly(int fd, size_t bytes, Waiting* waiting, std::string* out) {
  const size_t wanted = out->size() + bytes;
  while (out->size() < wanted) {
    char chunk[65536];
    if (!waiting->Await(fd, POLLIN)) return false;
    const ssize_t count = read(fd, chunk, std::min(sizeof(chunk), wanted - out->size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    out->append(chunk, count);
  }
  return true;
}

bool Send(int fd, std::string_view rest, Waiting waiting) {
  while (!rest.empty()) {
    if (!waiting.Await(fd, POLLOUT)) return false;
    const int flags = waiting.blocks() ? 0 : MSG_DONTWAIT;  // no more than there is room for
    const ssize_t count = send(fd, rest.data(), rest.size(), flags);
    if (count < 0 && (errno == EINTR || (errno == EAGAIN && flags != 0))) continue;
    if (count <= 0) return false;
    rest.remove_prefix(count);
  }
  return true;
}

std::optional<json> Receive(int fd, Waiting waiting) {
  std::string frame;
  if (!ReadExactly(fd, kFrameHeaderBytes, &waiting, &frame)) return std::nullopt;
  if (!ReadExactly(fd, FrameBodyBytes(frame), &waiting, &frame)) return std::nullopt;
  return DecodeFrame(frame);
}

}  // namespace

bool SendFrame(int fd, const json& message, Idle* idle) {
  return Send(fd, EncodeFrame(message), {.idle = idle});
}

std::optional<json> ReceiveFrame(int fd, Idle* idle) {
  return Receive(fd, {.idle = idle});
}

bool SendFrame(int fd, const json& message, std::chrono::milliseconds patience) {
  return SendEncoded(fd, EncodeFrame(message), patience);
}

bool SendEncoded(int fd, std::string_view frame, std::chrono::milliseconds patience) {
  return Send(fd, frame, {.until = Clock::now() + patience});
}

std::optional<json> ReceiveFrame(int fd, std::chrono::milliseconds patience) {
  return Receive(fd, {.until = Clock::now() + patience});
}

}  // namespace tritogen
