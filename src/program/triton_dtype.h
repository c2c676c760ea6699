// Element types as Triton names them.
#pragma once

#include <string>

#include "base/dtype.h"

namespace tritogen {

// "tl.float32", "tl.int1", "tl.float8e4nv", …
std::string TritonDtype(Dtype dtype);

}  // namespace tritogen
