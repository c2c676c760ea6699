// How much memory this process may still take.
#pragma once

#include <cstdint>

namespace tritogen {

// Bytes that are free, or free on demand, of the machine and of the control group, whichever has less; a
// guess (4 GiB) where the system does not say. Others may take them meanwhile.
int64_t AvailableMemory();

}  // namespace tritogen
