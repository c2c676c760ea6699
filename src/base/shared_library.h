// A shared library that is loaded when it is needed, and stays until the process ends.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace tritogen {

class SharedLibrary {
 public:
  // `name` is what messages call it. Throws UserError.
  SharedLibrary(const char* file, std::string name)
      : name_(std::move(name)), handle_(dlopen(file, RTLD_NOW | RTLD_GLOBAL)) {
    if (handle_ == nullptr) throw UserError(fmt::format("{} cannot be loaded: {}", name_, dlerror()));
  }

  // Throws UserError where it has no such function.
  template <typename Function>
  void Find(const char* symbol, Function* function) const {
    *function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    if (*function == nullptr) throw UserError(fmt::format("this {} has no {}", name_, symbol));
  }

 private:
  std::string name_;
  void* handle_;
};

}  // namespace tritogen
