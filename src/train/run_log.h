// What a run says of itself while it goes: log.jsonl, one object a line, and TensorBoard's events.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "train/event_file.h"

namespace tritogen::train {

class RunLog {
 public:
  // `step`: steps that were done before. Lines of later ones are of a run that was killed behind its last
  // checkpoint: they are taken out. Throws UserError when files cannot be written.
  RunLog(const std::filesystem::path& out, int64_t step, bool tensorboard);

  // `values`: a flat object; its numbers are TensorBoard's scalars "GROUP/KEY" of that step.
  void Add(int64_t step, std::string_view group, const nlohmann::ordered_json& values);

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  std::optional<EventFile> events_;
};

}  // namespace tritogen::train
