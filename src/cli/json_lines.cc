#include "cli/json_lines.h"

#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace tritogen {

using nlohmann::json;

bool MayBeCutLine(const std::string& end) {
  constexpr std::string_view kBegin = "{\"";
  if (end.substr(0, kBegin.size()) != kBegin.substr(0, end.size())) return false;
  const auto whole = json::parse(end, nullptr, /*allow_exceptions=*/false);
  return whole.is_discarded() || (whole.is_object() && whole.contains("id"));
}

int64_t ReadOldLines(const std::string& path, const std::function<OldLine(const json&)>& take) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return 0;  // pipes and devices may never end
  std::ifstream in(path, std::ios::binary);
  std::string line;
  uintmax_t read = 0, whole = 0;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (in.eof()) {  // no line break at its end
      if (!MayBeCutLine(line)) return number;
      break;
    }
    read += line.size() + 1;
    const OldLine kind = take(json::parse(line, nullptr, /*allow_exceptions=*/false));
    if (kind == OldLine::kForeign) return number;
    if (kind == OldLine::kWhole) whole = read;
  }
  in.close();
  if (std::filesystem::file_size(path, error) != whole && !error) std::filesystem::resize_file(path, whole);
  return 0;
}

AppendedLines::AppendedLines(const std::string& path) : path_(path) {
  if (path.empty()) return;
  file_.open(path, std::ios::app | std::ios::binary);
  if (!file_) throw UserError(fmt::format("cannot write to '{}'", path));
}

void AppendedLines::Write(const std::string& lines) {
  if (!(file_ << lines << std::flush))
    throw UserError(fmt::format("cannot write to '{}': is the disk full?", path_));
}

}  // namespace tritogen
