#include "cli/batch.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "judge/judge_pool.h"

namespace tritogen {
namespace {

using nlohmann::json;

struct Line {
  std::string id;
  json object;        // null: the line is no JSON object
  std::string fault;  // what is wrong with it
};

Line ParseLine(const std::string& text, int number) {
  Line line;
  line.id = fmt::format("line {}", number);
  line.object = json::parse(text, nullptr, /*allow_exceptions=*/false);
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

std::vector<Line> ReadLines(const std::string& path) {
  std::ifstream in(path);
  if (!in || std::filesystem::is_directory(path))
    throw UserError(fmt::format("there is no batch file '{}'", path));
  std::vector<Line> lines;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(ParseLine(text, number));
  }
  if (lines.empty()) throw UserError(fmt::format("the batch file '{}' holds no candidate", path));
  return lines;
}

// Ids with a complete line in an earlier output. A last line cut off by a crash is removed, so that appending
// is safe.
std::set<std::string> FinishedIds(const std::string& path) {
  std::set<std::string> ids;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  uintmax_t complete = 0;
  while (std::getline(in, text)) {
    if (in.eof()) break;  // no newline at its end
    complete += text.size() + 1;
    const json object = json::parse(text, nullptr, false);
    if (object.is_object() && object.contains("id") && object["id"].is_string()) ids.insert(object["id"]);
  }
  in.close();
  std::error_code error;
  if (std::filesystem::file_size(path, error) != complete && !error)
    std::filesystem::resize_file(path, complete);
  return ids;
}

// A source with a line break is the program itself; without one it is a path, looked for beside the batch
// file too.
std::string SourceText(const std::string& text, const std::filesystem::path& folder) {
  if (text.find('\n') != std::string::npos) return text;
  if (!std::filesystem::exists(text) && std::filesystem::exists(folder / text))
    return ReadSource(folder / text);
  return ReadSource(text);
}

JudgeRequest RequestOf(const Line& line, const BatchOptions& batch, const VerifyOptions& options) {
  const auto folder = std::filesystem::path(batch.file).parent_path();
  auto field = [&](const char* key, const std::string& fallback) {
    return line.object.contains(key) && line.object[key].is_string() ? line.object[key].get<std::string>()
                                                                     : fallback;
  };
  return {{SourceText(line.object["reference"], folder), field("class_reference", batch.class_reference)},
          {SourceText(line.object["candidate"], folder), field("class_candidate", batch.class_candidate)},
          options};
}

json BadLine(const std::string& fault) {
  Verdict verdict;
  verdict.rule = "batch_line";
  verdict.reason = fault;
  return verdict.ToJson();
}

class Output {
 public:
  explicit Output(const std::string& path) {
    if (path.empty()) return;
    file_.open(path, std::ios::app | std::ios::binary);
    if (!file_) throw UserError(fmt::format("cannot write to '{}'", path));
  }
  // One line, written whole and flushed, so that an interrupted run can be continued.
  void Write(const std::string& id, json verdict) {
    json object = {{"id", id}};
    object.update(verdict);
    std::ostream& out = file_.is_open() ? file_ : std::cout;
    out << object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n" << std::flush;
  }

 private:
  std::ofstream file_;
};

}  // namespace

int RunBatch(const BatchOptions& batch, const CommonOptions& common, const Environment& environment) {
  const std::vector<Line> lines = ReadLines(batch.file);
  const std::set<std::string> finished = batch.out.empty() ? std::set<std::string>() : FinishedIds(batch.out);
  Output output(batch.out);
  const VerifyOptions options = common.Verification(/*threads=*/1);
  CatchInterrupt();
  Recorder recorder = StartRecorder(environment, common);
  JudgePool pool(&recorder, Cores());
  Progress progress("verify", static_cast<int64_t>(lines.size()));

  int64_t done = 0, passed = 0;
  auto report = [&](const std::string& id, const json& verdict) {
    progress.Clear();
    output.Write(id, verdict);
    passed += verdict.at("verdict") == "passed";
    progress.Set(++done, fmt::format("{} passed", passed));
  };
  for (const Line& line : lines) {
    if (finished.count(line.id)) {
      ++done;
      continue;
    }
    if (!line.fault.empty()) {
      report(line.id, BadLine(line.fault));
      continue;
    }
    try {
      pool.Submit(line.id, RequestOf(line, batch, options));
    } catch (const UserError& error) {
      report(line.id, BadLine(error.what()));
    }
  }
  while (pool.unfinished() > 0 && !Interrupted()) {
    if (auto reply = pool.Next(0.5)) report(reply->id, reply->verdict);
  }
  if (Interrupted()) {
    progress.Clear();
    fmt::print(stderr, "interrupted after {} of {} candidates{}\n", done, lines.size(),
               batch.out.empty() ? "; with --out FILE a second run goes on where this one stopped"
                                 : "; run it again to go on");
    return kInterruptedExit;
  }
  return 0;
}

}  // namespace tritogen
