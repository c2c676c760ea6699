// Ranks on one machine as processes forked from this one, which is rank 0. They do what it tells them; it
// notices when one of them ends or fails, or when work that all take part in does not end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ranks/rank_channel.h"

namespace tritogen {

class RankProcesses {
 public:
  // What each of the new processes does; it ends with it. What it throws comes to rank 0 as its fault, with
  // the difference between UserError and others. It ends with rank 0, whatever happens to that; SIGINT and
  // SIGTERM are rank 0's business.
  using Body = std::function<void(int rank, RankChannel* to_first)>;

  struct Watch {
    // A message of one's own (kinds from 1 on) came. What it throws makes a loss.
    std::function<void(int rank, const RankChannel::Message& message)> on_message;
    // A rank is lost, or hangs; the others have been ended. Nothing is to be hoped for any more, and whoever
    // waits for a device may wait forever: it should end the process. `users_fault`: the rank has ended with
    // a UserError.
    std::function<void(const std::string& why, bool users_fault)> on_lost;
  };

  // Starts ranks 1 to size − 1. REQUIRES: this process has no other threads and has not touched a GPU.
  RankProcesses(int size, const Body& body);
  ~RankProcesses();  // waits a little for them to end by themselves
  RankProcesses(const RankProcesses&) = delete;

  static constexpr int32_t kReady = 0;
  // To all. Throws RankLost, or a rank's UserError.
  void Send(int32_t kind, std::string_view bytes = {});
  // Each rank has sent kReady. Throws what one of them failed with, RankLost when one does not come within
  // the time. REQUIRES: before StartWatching.
  void AwaitReady(double seconds);

  // From now on a thread reads what they send; both functions are called on it.
  void StartWatching(Watch watch);

  // Work of all ranks, while it lives; `what` for messages. When it has not ended in time the ranks are lost.
  class Working {
   public:
    Working(RankProcesses* processes, std::string what, double seconds);
    ~Working();
    Working(const Working&) = delete;

   private:
    RankProcesses* processes_;
  };

  int size() const { return static_cast<int>(ranks_.size()) + 1; }

 private:
  struct Rank {
    pid_t pid = -1;
    RankChannel channel;
    bool reaped = false;
  };
  struct Work {
    std::string what;
    double seconds = 0;
    std::chrono::steady_clock::time_point end;
  };

  void Start(int rank, int size, const Body& body);
  void WatchThem();
  void Take(int rank);
  std::string Name(int rank) const;
  std::string Ended(int rank);
  std::string Hanging(const Work& work) const;
  void Lose(const std::string& why, bool users_fault);
  [[noreturn]] void ThrowFault(int rank, const std::optional<RankChannel::Message>& message);

  std::vector<Rank> ranks_;  // rank 1 first
  Watch watch_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stops_ = false;
  std::string lost_;  // why, once they are
  bool users_fault_ = false;
  std::optional<Work> work_;
  Pipe wake_;
  std::thread thread_;
};

}  // namespace tritogen
