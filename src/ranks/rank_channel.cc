#include "ranks/rank_channel.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include "base/error.h"

namespace tritogen {
namespace {

struct Header {
  int32_t kind = 0;
  uint32_t bytes = 0;
};

bool SendAll(int fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent, bytes -= static_cast<size_t>(sent);
  }
  return true;
}

bool ReceiveAll(int fd, void* data, size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t received = recv(fd, at, bytes, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    at += received, bytes -= static_cast<size_t>(received);
  }
  return true;
}

}  // namespace

std::pair<RankChannel, RankChannel> RankChannel::MakePair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  return {RankChannel(UniqueFd(ends[0])), RankChannel(UniqueFd(ends[1]))};
}

bool RankChannel::Send(int32_t kind, std::string_view bytes) {
  TRITOGEN_CHECK(bytes.size() <= std::numeric_limits<uint32_t>::max());
  const Header header{kind, static_cast<uint32_t>(bytes.size())};
  return SendAll(fd(), &header, sizeof header) && SendAll(fd(), bytes.data(), bytes.size());
}

std::optional<RankChannel::Message> RankChannel::Receive() {
  Header header;
  if (!ReceiveAll(fd(), &header, sizeof header)) return std::nullopt;
  Message message{.kind = header.kind, .bytes = std::string(header.bytes, '\0')};
  if (!ReceiveAll(fd(), message.bytes.data(), message.bytes.size())) return std::nullopt;
  return message;
}

int64_t RankChannel::UnreadBytes() const {
  int bytes = 0;
  return ioctl(fd(), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

}  // namespace tritogen
