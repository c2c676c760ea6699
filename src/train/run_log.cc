#include "train/run_log.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"

namespace tritogen::train {
namespace {

// Whole lines of steps up to `step`, with which a checkpoint ends. A last line may have been cut by a kill.
std::string LinesUpTo(const std::string& text, int64_t step) {
  std::string kept;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) continue;
    if (json["step"].get<int64_t>() <= step) kept += line + '\n';
  }
  return kept;
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& out, int64_t step, bool tensorboard) : path_(out / "log.jsonl") {
  const std::string before = Exists(path_) ? LinesUpTo(ReadFile(path_, size_t{4} << 30), step) : "";
  WriteFileAtomic(path_, before);
  fd_.Reset(open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd_.valid()) throw UserError(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
  if (tensorboard) events_.emplace(out, step + 1);
}

void RunLog::Add(int64_t step, std::string_view group, const nlohmann::ordered_json& values) {
  nlohmann::ordered_json line = {{"step", step}};
  line.update(values);
  AppendTo(fd_, line.dump() + '\n', path_);
  if (!events_) return;
  std::vector<std::pair<std::string, double>> scalars;
  for (const auto& [key, value] : values.items()) {
    if (value.is_number()) scalars.emplace_back(fmt::format("{}/{}", group, key), value.get<double>());
  }
  events_->Add(step, scalars);
}

}  // namespace tritogen::train
