// Files that TensorBoard reads: records of protocol buffers (tensorflow/core/util/event.proto), each framed
// by its length and masked CRC-32Cs (tensorflow/core/lib/io/record_writer.h). Only what scalars need.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"

namespace tritogen::train {

// tag → value
using Scalars = std::span<const std::pair<std::string, double>>;

// Framed records.
std::string VersionRecord(double seconds);
// What is in the folder for this step and later ones is of a run that was not gone on with.
std::string StartRecord(double seconds, int64_t step);
std::string ScalarsRecord(double seconds, int64_t step, Scalars scalars);

// Appends records as they come; what was written before a kill can be read.
class EventFile {
 public:
  // A new file in the folder. `step`: the first one that will be written. Throws UserError.
  EventFile(const std::filesystem::path& folder, int64_t step);
  void Add(int64_t step, Scalars scalars);  // throws UserError when the disk is full

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
};

// Appends the whole text to a file. Throws UserError naming it.
void AppendTo(const UniqueFd& fd, std::string_view text, const std::filesystem::path& path);

}  // namespace tritogen::train
