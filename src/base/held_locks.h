// Mutexes that are held while a process is forked: one that another thread has at that time would stay locked
// in the new process, where nobody lets it go. Both processes let go what they hold.
#pragma once

#include <mutex>
#include <vector>

namespace tritogen {

using HeldLocks = std::vector<std::unique_lock<std::mutex>>;

}  // namespace tritogen
