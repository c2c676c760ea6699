#include "program/triton_dtype.h"

#include <fmt/format.h>

namespace tritogen {

std::string TritonDtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool:
      return "tl.int1";
    case Dtype::kFloat8E4M3:
      return "tl.float8e4nv";
    case Dtype::kFloat8E5M2:
      return "tl.float8e5";
    default:
      return fmt::format("tl.{}", DtypeName(dtype));
  }
}

}  // namespace tritogen
