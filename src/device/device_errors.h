// What went wrong on a device, as PyTorch, its libraries and the driver say so, each in its own way.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace tritogen {

// What an exception says to a person. libtorch's own hold the stack of its frames, too, and pages about
// memory.
std::string MessageOf(const std::exception& error);

// It says that the device has too little memory.
bool SaysOutOfMemory(const std::exception& error);

// Throws the exception that is being handled again: as a UserError "<what>: the device's memory does not
// suffice (<why>)<advice>" where it says that there is too little memory, else as it is. Call it in a
// handler.
[[noreturn]] void RethrowMemoryError(std::string_view what, std::string_view advice);

// work(), whose want of memory is the user's to mend.
template <typename Work>
auto NeedingDeviceMemory(std::string_view what, std::string_view advice, const Work& work) {
  try {
    return work();
  } catch (...) {
    RethrowMemoryError(what, advice);
  }
}

}  // namespace tritogen
