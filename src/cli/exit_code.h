// How commands end. What 1 means each says in its help.
#pragma once

namespace tritogen {

constexpr int kDoneExit = 0;
constexpr int kFlawedExit = 1;         // done, and what was judged, checked or asked for is not all good
constexpr int kWrongUseExit = 2;       // UserError, or options that do not parse
constexpr int kFaultExit = 3;          // of Tritogen, of this machine, or of who was asked for answers
constexpr int kNotFinishedExit = 75;   // EX_TEMPFAIL of sysexits.h: run it again
constexpr int kInterruptedExit = 130;  // as shells have it for Ctrl-C

}  // namespace tritogen
