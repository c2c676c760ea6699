// Files that the processes of a machine lock to take turns on something. The kernel frees the locks of a
// holder that ends.
#pragma once

#include <string>

#include "base/fd.h"

namespace tritogen {

// The file, locked; waits. Everybody may lock it, whoever comes first makes it. Throws InternalError when
// there is nowhere to keep it.
UniqueFd LockFile(const std::string& path);

// One turn. Who waits for it holds a second file locked, the gate, so that nobody slips in before, and so
// that the holder can see that somebody waits. worker/gpu_turn.py is the same protocol in Python. Not
// thread-safe.
class TurnLock {
 public:
  explicit TurnLock(const std::string& path);  // PATH.lock and PATH.gate. Throws InternalError
  ~TurnLock();                                 // ends the turn
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;

  void Take();  // waits
  // REQUIRES: it was taken. True too where that cannot be found out.
  bool SomebodyWaits() const noexcept;

 private:
  UniqueFd gate_, lock_;
};

}  // namespace tritogen
