#include "eval/pass_at_one.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_text.h"
#include "base/process.h"
#include "base/text.h"

namespace tritogen::eval {
namespace {

constexpr int64_t kMost = int64_t{1} << 50;

std::vector<std::string> CommandFor(const std::filesystem::path& model, int64_t programs,
                                    const PassAtOneOptions& o) {
  const auto levels = static_cast<int64_t>(o.levels.size());
  const int64_t count = std::max<int64_t>(1, (programs + levels - 1) / levels);
  std::vector<std::string> command = {std::filesystem::canonical(o.program).string(),
                                      "eval",
                                      "--json",
                                      "--suite",
                                      "synth",
                                      "--split",
                                      "held-out",
                                      "-n",
                                      "1",
                                      "--model",
                                      std::filesystem::absolute(model).string(),
                                      "--level",
                                      fmt::format("{}", fmt::join(o.levels, ",")),
                                      "--count",
                                      std::to_string(count),
                                      "--seed",
                                      std::to_string(o.seed),
                                      "--temperature",
                                      fmt::format("{}", o.temperature),
                                      "--device",
                                      o.device,
                                      "--cache-gib",
                                      fmt::format("{}", o.cache_gib)};  // clang-format off
  // clang-format on
  if (!o.config.empty()) command.insert(command.end(), {"--config", o.config});
  if (o.judges > 0) command.insert(command.end(), {"--judges", std::to_string(o.judges)});
  return command;
}

// The last line of what a program said on stderr.
std::string LastWords(std::string_view error) {
  std::string_view last;
  while (!error.empty()) {
    const std::string_view line = Trimmed(TakeLine(&error));
    if (!line.empty()) last = line;
  }
  return std::string(last);
}

}  // namespace

PassAtOneResult PassAtOne(const std::filesystem::path& model, int64_t programs,
                          const PassAtOneOptions& options) {
  TRITOGEN_CHECK(programs > 0 && !options.levels.empty());
  const ProcessResult ran =
      RunProcess(CommandFor(model, programs, options),
                 {.wall_seconds = options.wall_seconds, .max_output_bytes = size_t{64} << 20});
  if (ran.timed_out) throw UserError(fmt::format("pass@1 took longer than {:g} s", options.wall_seconds));
  if (!ran.ok())
    throw UserError(
        fmt::format("pass@1 could not be measured (exit code {}): {}", ran.exit_code, LastWords(ran.error)));
  try {
    const nlohmann::json json = ParseJson(ran.output);
    const JsonCursor summary(json);
    PassAtOneResult result{.seconds = summary["seconds"].json().get<double>()};
    const nlohmann::json& proposers = summary["proposers"].json();
    if (proposers.size() != 1) throw FormatError("there are no answers in the summary");
    const JsonCursor of(*proposers.begin());
    result.programs = of["all"]["answers"].Int(0, kMost);
    result.passed = of["all"]["passed"].Int(0, kMost);
    for (const auto& [reason, count] : of["verdicts"].json().items())
      result.outcomes[reason] = count.get<int64_t>();
    return result;
  } catch (const std::exception& error) {  // FormatError and nlohmann's own
    throw UserError(fmt::format("pass@1 could not be measured: {}", error.what()));
  }
}

}  // namespace tritogen::eval
