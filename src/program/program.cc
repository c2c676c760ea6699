#include "program/program.h"

namespace tritogen {

int64_t Shape::numel() const {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

}  // namespace tritogen
