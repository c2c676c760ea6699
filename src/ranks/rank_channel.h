// Messages between two processes of one machine that trust each other: a kind, a length, bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"

namespace tritogen {

class RankChannel {
 public:
  struct Message {
    int32_t kind = 0;
    std::string bytes;
  };

  RankChannel() = default;
  explicit RankChannel(UniqueFd fd) : fd_(std::move(fd)) {}
  static std::pair<RankChannel, RankChannel> MakePair();  // throws std::system_error

  // Waits while the other end has much to read. False: it is gone. Up to 4 GiB.
  bool Send(int32_t kind, std::string_view bytes = {});
  // Waits for the next one. Nothing: the other end is gone.
  std::optional<Message> Receive();
  // What was sent and the other end has not taken yet, about.
  int64_t UnreadBytes() const;

  int fd() const { return fd_.get(); }
  bool open() const { return fd_.valid(); }
  void Close() { fd_.Reset(); }

 private:
  UniqueFd fd_;
};

}  // namespace tritogen
