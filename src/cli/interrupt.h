// How every command may be ended: Ctrl-C.
#pragma once

namespace tritogen {

// After CatchInterrupt, Ctrl-C and SIGTERM only set a flag, and Ctrl-C behind either ends the process at
// once. A second SIGTERM does not: timeout(1) sends it to the command and then to its group, so that it comes
// twice.
void CatchInterrupt();
bool Interrupted();

}  // namespace tritogen
