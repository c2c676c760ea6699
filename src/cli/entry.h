// What of a PyTorch file is meant, and its Plan.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "record/recorder.h"

namespace tritogen {

struct EntryOptions {
  std::string class_name = "Model", function;  // one of them; no function: the class

  // --class and --function; `verb` for their help: "convert".
  void AddTo(CLI::App* app, const std::string& verb);
  bool is_function() const { return !function.empty(); }
  const std::string& name() const { return is_function() ? function : class_name; }
  RecordRequest Request(const std::string& source) const;
};

// Throws UserError with file and line for a program that does not record, InternalError when the worker
// failed.
Plan RecordFile(Recorder* recorder, const EntryOptions& entry, const std::string& file,
                const std::string& source);

}  // namespace tritogen
