#include "ranks/rank_channel.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
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

// Both in one call, so that a process which is stopped leaves no half of a short message behind.
bool SendAll(int fd, std::string_view first, std::string_view second) {
  while (!first.empty() || !second.empty()) {
    iovec parts[] = {{const_cast<char*>(first.data()), first.size()},
                     {const_cast<char*>(second.data()), second.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    const size_t of_first = std::min(first.size(), static_cast<size_t>(sent));
    first.remove_prefix(of_first);
    second.remove_prefix(static_cast<size_t>(sent) - of_first);
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
  return SendAll(fd(), {reinterpret_cast<const char*>(&header), sizeof header}, bytes);
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
