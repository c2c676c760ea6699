#include "device/device_errors.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "cuda/driver.h"

namespace tritogen {
std::string MessageOf(const std::exception& error) {
  const auto* of_libtorch = dynamic_cast<const c10::Error*>(&error);
  if (of_libtorch == nullptr) return error.what();
  const std::string text = of_libtorch->what_without_backtrace();
  return text.substr(0, std::min(text.find('\n'), text.find(" Of the allocated memory")));
}

bool SaysOutOfMemory(const std::exception& error) {
  if (const auto* of_driver = dynamic_cast<const cuda::Error*>(&error)) return of_driver->out_of_memory();
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  if (dynamic_cast<const c10::Error*>(&error) == nullptr) return false;
  // What a context, a kernel's code or a library's workspace need does not come from PyTorch's allocator: its
  // want is told by text alone.
  const std::string text = MessageOf(error);
  for (const char* sign : {"CUDA error: out of memory", "_STATUS_ALLOC_FAILED", "CUDA out of memory"}) {
    if (text.find(sign) != std::string::npos) return true;
  }
  return false;
}

void RethrowMemoryError(std::string_view what, std::string_view advice) {
  try {
    throw;
  } catch (const std::exception& error) {
    if (!SaysOutOfMemory(error)) throw;
    throw UserError(
        fmt::format("{}: the device's memory does not suffice ({}){}", what, MessageOf(error), advice));
  }
}

}  // namespace tritogen
