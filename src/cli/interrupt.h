// How every command may be ended: Ctrl-C.
#pragma once

namespace tritogen {

// After CatchInterrupt, Ctrl-C and SIGTERM only set a flag.
void CatchInterrupt();
bool Interrupted();
constexpr int kInterruptedExit = 130;

}  // namespace tritogen
