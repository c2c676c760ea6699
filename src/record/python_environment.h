// What the worker needs of the machine's Python: its interpreter, its standard library and the folders with
// packages.
#pragma once

#include <string>
#include <vector>

#include "record/jail.h"

namespace tritogen {

struct PythonEnvironment {
  std::string interpreter;  // real file, no virtual environment's link
  std::vector<std::string>
      libraries;  // folders shown at their own place: the standard library and system libraries
  std::vector<std::string>
      packages;  // site-packages folders in the order of sys.path, shown as /packages/0, …

  std::string triton_version;  // "3.6.0"

  std::vector<JailMount> Mounts(const std::string& worker_folder) const;
};

// Asks the interpreter, outside the jail. Throws UserError when it cannot be run or has no torch, triton or
// msgpack.
PythonEnvironment FindPythonEnvironment(const std::string& python);

}  // namespace tritogen
