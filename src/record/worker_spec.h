// How a zygote of worker/ is started: what recorder and kernel compiler share.
#pragma once

#include <string>
#include <vector>

#include "record/jail.h"
#include "record/python_environment.h"

namespace tritogen {

// The worker inside the jail, or, in a weak one, where it lies outside. Nothing in it tells of the caller.
// `module` of worker/ serves the requests.
JailSpec WorkerSpec(const PythonEnvironment& python, const std::string& worker_folder,
                    const std::string& module, bool weak);

struct JailStrength {
  bool weak = false;                 // a required feature is missing
  std::vector<std::string> missing;  // features that the kernel refused, required or not
};

// Throws UserError when the jail would be weak and that is not allowed.
JailStrength RequireJail(bool allow_weak_jail);

}  // namespace tritogen
