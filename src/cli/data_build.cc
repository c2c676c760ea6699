// data build: draws programs, has them answered, verifies every answer, writes what passed as shards.
#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <chrono>

#include "base/error.h"
#include "base/thread_team.h"
#include "cli/data.h"
#include "cli/exit_code.h"
#include "cli/numbers.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/remote_options.h"
#include "cli/session.h"
#include "cli/version.h"
#include "data/build.h"
#include "propose/group.h"

namespace tritogen {
namespace {

struct DataBuildOptions {
  std::string config, out, shards, device = "auto";
  int judges = 0, gpus = 1;
  std::optional<int64_t> seed;
  bool allow_weak_jail = false;
  ProposerOptions remote;  // of a teacher that is a remote model
};

// "3:10" → shards 3 to 9; "5:" → from 5 on.
std::pair<int64_t, int64_t> ParseSlice(const std::string& text, int64_t count) {
  int64_t first = 0, past = count;
  const size_t colon = text.find(':');
  auto number = [&](std::string_view part, int64_t* value) {
    if (part.empty()) return true;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *value);
    return error == std::errc() && end == part.data() + part.size();
  };
  const std::string_view view = text;
  const bool good = colon != std::string::npos && number(view.substr(0, colon), &first) &&
                    number(view.substr(colon + 1), &past);
  if (!good || first < 0 || past > count || first >= past)
    throw UserError(fmt::format(
        "--shards {}: must be FIRST:PAST with 0 <= FIRST < PAST <= {}, the set's shards", text, count));
  return {first, past};
}

// "teacher", "remote:URL", or several with a plus: "inductor + remote:URL".
std::unique_ptr<Proposer> MakeTeacher(const std::string& names, ProposerOptions options,
                                      const std::string& device, const Environment& environment) {
  options.proposers.clear();
  for (std::string_view rest = names; !rest.empty();) {
    const size_t plus = rest.find(" + ");
    options.proposers.emplace_back(rest.substr(0, plus));
    rest.remove_prefix(plus == std::string_view::npos ? rest.size() : plus + 3);
  }
  if (options.proposers.empty()) throw UserError("teacher.name: there is no name");
  auto made = options.Make({.environment = environment,
                            .runner = {.device = device},
                            .give_up = Interrupted,
                            .must_answer = true});
  return made.size() == 1 ? std::move(made[0]) : std::make_unique<ProposerGroup>(std::move(made));
}

int64_t MissingPrograms(const data::BuildOptions& options, const data::BuildRun& run,
                        const data::SetFolder& folder) {
  int64_t programs = 0;
  for (int64_t i = run.first_shard; i < run.past_shard; ++i) {
    if (folder.Has(i)) continue;
    programs += std::min(options.shard_programs, options.total_programs() - i * options.shard_programs);
  }
  return programs;
}

void PrintSummary(const data::SetFolder& folder, const std::string& out, bool finished, int64_t shards) {
  data::Tally tally;
  for (const auto& [index, info] : folder.done()) tally.Add(info.tally);
  fmt::print("{}: {} records of {} programs in {} of {} shards\n", out, tally.records, tally.programs,
             folder.done().size(), shards);
  for (const auto& [reason, count] : tally.dropped) fmt::print("  dropped {:>7}  {}\n", count, reason);
  fmt::print("{}\n", finished ? "finished: the manifest is written"
                              : "not finished: run this again, without --shards, to go on");
}

// Where the time went, for an answer: the judges', and this process's, which draws and teaches for all of
// them.
void PrintTimes(const data::BuildState& state) {
  if (state.answers == 0) return;
  const auto answers = static_cast<double>(state.answers);
  std::string text;
  for (const auto& [stage, seconds] : state.stages)
    text += fmt::format(", {} {:.1f}", stage, 1000 * seconds / answers);
  rusage mine = {};
  getrusage(RUSAGE_SELF, &mine);
  const double own =
      static_cast<double>(mine.ru_utime.tv_sec) + 1e-6 * static_cast<double>(mine.ru_utime.tv_usec);
  fmt::print(stderr, "{} answers judged; ms an answer: draw and teach {:.1f}{}\n", state.answers,
             1000 * own / answers, text);
}

int BuildSet(const DataBuildOptions& o, const Environment& environment) {
  data::BuildOptions options = ReadSetConfig(o.config, environment);
  options.seed = o.seed.value_or(options.seed);
  const std::string out = o.out.empty() ? options.out : o.out;
  if (out.empty()) throw UserError("where to? Give out = \"FOLDER\" in the configuration, or --out FOLDER");
  data::BuildRun run{.past_shard = options.shards(), .judges = o.judges > 0 ? o.judges : MachineThreads()};
  if (!o.shards.empty()) std::tie(run.first_shard, run.past_shard) = ParseSlice(o.shards, options.shards());
  const std::unique_ptr<Proposer> teacher =
      MakeTeacher(options.teacher.name, o.remote, o.device, environment);
  data::SetFolder folder(out, data::Identity(&options), options.shards());
  for (const std::string& remark : folder.remarks()) fmt::print(stderr, "tritogen data: {}\n", remark);

  CatchInterrupt();
  bool done = true;
  if (const int64_t missing = MissingPrograms(options, run, folder); missing > 0) {
    const CommonOptions common{.device = o.device,
                               .budget_seconds = options.budget_seconds,
                               .allow_weak_jail = o.allow_weak_jail,
                               .no_cache = true,
                               .gpus = o.gpus};
    const std::optional<FoundGpu> gpu = common.FindGpu();
    const Workers workers = StartWorkers(environment, common, gpu, run.judges);
    JudgePool pool(workers.recorder.get(), run.judges, workers.gpu, workers.cache);
    AwaitWorkers(workers, &pool);
    run.on_gpu = gpu.has_value();
    run.stop = Interrupted;
    if (!folder.done().empty() || run.first_shard > 0)
      fmt::print(stderr,
                 "tritogen data: programs that are done are drawn again first, without being judged\n");
    Progress progress("programs", missing);
    const auto start = std::chrono::steady_clock::now();
    data::BuildState last;
    run.progress = [&](const data::BuildState& state) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      progress.Set(state.programs,
                   fmt::format("{} records, {:.1f}/s", state.records, state.records / seconds));
      last = state;
    };
    try {
      done = data::Build(options, run, teacher.get(), &pool, &folder);
    } catch (const UserError& error) {  // a full disk, an endpoint that is out: what is done stays
      throw UserError(fmt::format(
          "{}; {} of {} shards are done, and the same command goes on behind them once that is mended",
          error.what(), folder.done().size(), options.shards()));
    }
    progress.Clear();
    PrintTimes(last);
    for (const std::string& remark : teacher->TakeRemarks())
      fmt::print(stderr, "tritogen data: {}\n", remark);
  }
  const bool finished = done && folder.Finish(Versions());
  PrintSummary(folder, out, finished, options.shards());
  return done ? 0 : kInterruptedExit;
}

}  // namespace

int RunDataBuild(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Builds a data set: draws programs, has them answered, verifies every answer and writes what passed "
      "as\n"
      "shards; the manifest comes last. Killed or interrupted, the same command goes on with the next shard.",
      "./tritogen data build");
  DataBuildOptions options;
  app.add_option("--config", options.config, "TOML file, such as configs/data.toml")->required();
  app.add_option("--out", options.out, "folder of the set (default: out of the configuration)");
  app.add_option("--seed", options.seed,
                 "of programs and answers (default: the configuration's): sets that several machines build")
      ->check(kNonNegative);
  app.add_option("--shards", options.shards,
                 "only these: FIRST:PAST. Slices built elsewhere are copied together; a last run without\n"
                 "--shards writes the manifest");
  app.add_option("--device", options.device, "where answers run")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  app.add_option("--judges", options.judges, "processes that verify (default: one per core)")
      ->check(CLI::Range(1, 1024));
  AddGpus(&app, &options.gpus);
  AddWeakJail(&app, &options.allow_weak_jail);
  options.remote.AddRemoteTo(&app);
  if (auto code = Parse(&app, argc, argv)) return *code;
  return BuildSet(options, environment);
}

}  // namespace tritogen
