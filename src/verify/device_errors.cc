#include "verify/device_errors.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "cuda/driver.h"

namespace tritogen {
namespace {

[[noreturn]] void Fail(std::string_view what, std::string_view advice, std::string_view why) {
  throw UserError(fmt::format("{}: the device's memory does not suffice ({}){}", what,
                              why.substr(0, why.find('\n')), advice));
}

}  // namespace

std::string MessageOf(const std::exception& error) {
  const auto* of_libtorch = dynamic_cast<const c10::Error*>(&error);
  if (of_libtorch == nullptr) return error.what();
  const std::string text = of_libtorch->what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

void RethrowMemoryError(std::string_view what, std::string_view advice) {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    Fail(what, advice, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    // What a context, a kernel's code or a library's workspace need does not come from PyTorch's allocator:
    // its want is told by text alone.
    const std::string text = error.what_without_backtrace();
    for (const char* sign : {"CUDA error: out of memory", "_STATUS_ALLOC_FAILED", "CUDA out of memory"}) {
      if (text.find(sign) != std::string::npos) Fail(what, advice, text);
    }
    throw;
  } catch (const cuda::Error& error) {
    if (error.out_of_memory()) Fail(what, advice, error.what());
    throw;
  }
}

}  // namespace tritogen
