// How every command may be ended: Ctrl-C.
#pragma once

namespace tritogen {

// After CatchInterrupt, Ctrl-C and SIGTERM only set a flag, and Ctrl-C half a second or more behind either
// ends the process at once. A second SIGTERM does not.
void CatchInterrupt();
bool Interrupted();

}  // namespace tritogen
