#include "cli/eval_output.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_text.h"
#include "cli/batch_file.h"
#include "eval/conversations.h"

namespace tritogen {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string LineOf(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

EvalOutput::EvalOutput(const std::string& folder, const ordered_json& options, const AnswerFiles& files)
    : folder_(folder),
      failures_(files.failures),
      answers_(files.answers),
      conversations_(files.conversations) {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  const std::string options_path = folder_ + "/eval.json", results = folder_ + "/results.jsonl";
  if (Exists(options_path)) {
    ordered_json before;
    try {
      before = ordered_json(ParseJson(ReadFile(options_path)));
    } catch (const FormatError& fault) {
      throw UserError(fmt::format("'{}': {}", options_path, fault.what()));
    }
    if (nlohmann::json(before) != nlohmann::json(options))
      throw UserError(fmt::format("'{}' holds another evaluation ({}); give another --out, or remove it",
                                  folder_, options_path));
    GoOn(results);
  } else {
    if (Exists(results))
      throw UserError(
          fmt::format("'{}' holds results of nobody knows which evaluation: eval.json is missing", folder_));
    WriteFileAtomic(options_path, options.dump(2) + "\n");
  }
  results_ = AppendedLines(results);
}

void EvalOutput::GoOn(const std::string& path) {
  if (!Exists(path)) return;
  done_ = FinishedIds(path);
  std::ifstream in(path, std::ios::binary);
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    try {
      score_.Add(ParseJson(line));
    } catch (const FormatError& error) {
      throw UserError(fmt::format("{}, line {}: {}", path, number, error.what()));
    }
  }
}

void EvalOutput::Add(const eval::Task& task, const eval::Outcomes& outcomes) {
  const auto append = [](AppendedLines* file, const std::vector<ordered_json>& objects) {
    std::string lines;
    for (const ordered_json& object : objects) lines += LineOf(object);
    file->Write(lines);
  };
  if (failures_.is_open()) append(&failures_, eval::FailuresOf(task, outcomes));
  if (answers_.is_open()) append(&answers_, eval::FilesOf(task, outcomes));
  if (conversations_.is_open()) append(&conversations_, eval::ConversationsOf(task, outcomes));
  const ordered_json result = eval::ResultOf(task, outcomes);
  if (results_.is_open()) results_.Write(LineOf(result));
  score_.Add(nlohmann::json(result));
}

void EvalOutput::Finish(const ordered_json& summary) const {
  if (folder_.empty()) return;
  WriteFileAtomic(folder_ + "/summary.json",
                  summary.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace tritogen
