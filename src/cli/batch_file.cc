#include "cli/batch_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "cli/files.h"
#include "cli/json_lines.h"

namespace tritogen {
namespace {

using nlohmann::json;

// Text with a line break is the program itself; without one it is a path, looked for beside the batch file
// too.
std::string SourceText(const std::string& text, const std::filesystem::path& folder) {
  if (text.find('\n') != std::string::npos) return text;
  std::error_code ignored;  // a name too long for a file is none that exists
  const bool beside =
      !std::filesystem::exists(text, ignored) && std::filesystem::exists(folder / text, ignored);
  return ReadSource(beside ? folder / text : std::filesystem::path(text));
}

std::string_view WithoutMark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace

bool IsBlankLine(std::string_view text) {
  return WithoutMark(text).find_first_not_of(" \t\r") == text.npos;
}

BatchLine ParseBatchLine(std::string_view text, int number) {
  BatchLine line;
  line.id = fmt::format("line {}", number);
  line.object = json::parse(WithoutMark(text), nullptr, /*allow_exceptions=*/false);
  if (!line.object.is_object()) {
    line.fault = fmt::format("line {} is not a JSON object", number);
    return line;
  }
  if (line.object.contains("id")) {
    const json& id = line.object["id"];
    line.id = id.is_string() ? id.get<std::string>() : id.dump();
  }
  for (const char* key : {"reference", "candidate"}) {
    if (!line.object.contains(key) || !line.object[key].is_string()) {
      line.fault = fmt::format("line {} has no text field '{}'", number, key);
    }
  }
  return line;
}

std::vector<BatchLine> ReadBatch(const std::string& path) {
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path))
    throw UserError(fmt::format("there is no batch file '{}'", path));
  std::vector<BatchLine> lines;
  std::map<std::string, int> numbers;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    if (IsBlankLine(text)) continue;
    lines.push_back(ParseBatchLine(text, number));
    const auto [first, fresh] = numbers.emplace(lines.back().id, number);
    if (!fresh) {
      throw UserError(fmt::format("{}: lines {} and {} have the same id '{}'; give each candidate its own",
                                  path, first->second, number, first->first));
    }
  }
  if (lines.empty()) throw UserError(fmt::format("the batch file '{}' holds no candidate", path));
  return lines;
}

std::set<std::string> FinishedIds(const std::string& path) {
  std::set<std::string> ids;
  const int64_t foreign = ReadOldLines(path, [&](const json& object) {
    if (!object.is_object() || !object.contains("id") || !object["id"].is_string()) return OldLine::kForeign;
    ids.insert(object["id"]);
    return OldLine::kWhole;
  });
  if (foreign == 0) return ids;
  throw UserError(
      fmt::format("{}, line {}: no result of an earlier run; name another file for --out", path, foreign));
}

JudgeRequest RequestOf(const BatchLine& line, const BatchOptions& batch, const VerifyOptions& options) {
  const auto folder = std::filesystem::path(batch.file).parent_path();
  auto field = [&](const char* key, const std::string& fallback) {
    return line.object.contains(key) && line.object[key].is_string() ? line.object[key].get<std::string>()
                                                                     : fallback;
  };
  // What comes through a pipe is what a model wrote, and a model must not choose a file of this machine.
  const std::string candidate = line.object["candidate"];
  const bool is_source = batch.file == "-" || candidate.empty();
  return {{SourceText(line.object["reference"], folder), field("class_reference", batch.class_reference)},
          {is_source ? candidate : SourceText(candidate, folder),
           field("class_candidate", batch.class_candidate)},
          options};
}

}  // namespace tritogen
