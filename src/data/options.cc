#include "data/options.h"

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/rounding.h"
#include "base/sha256.h"
#include "config/toml.h"

namespace tritogen::data {
namespace {

constexpr int64_t kMostPrograms = 10'000'000, kMostLevel = 64;
constexpr int64_t kMostSeed = int64_t{1} << 53;

void DescribeLevel(config::Fields* f, LevelOptions* o) {
  f->Int("level", &o->level, 1, kMostLevel);
  f->Int("programs", &o->programs, 1, kMostPrograms);
  f->Text("operators", &o->operators);
  f->Text("sizes", &o->sizes);
  const char* key = "operators";
  try {
    synth::OperatorsNamed(o->operators);
    key = "sizes";
    if (!o->sizes.empty()) synth::Domain::Parse(o->sizes);
  } catch (const UserError& error) {
    f->Fail(key, error.what());
  }
}

void DescribePrograms(config::Fields* f, ProgramOptions* o) {
  static const std::vector<std::string> kSplits{"graph", "sizes"};
  f->Text("sizes", &o->sizes);
  f->Text("image_sizes", &o->image_sizes);
  f->Int("max_elements", &o->max_elements, 1, int64_t{1} << 40);
  f->Int("max_bytes", &o->max_bytes, 1, int64_t{1} << 40);
  f->Int("max_flops", &o->max_flops, 1, int64_t{1} << 60);
  f->Int("max_rank", &o->max_rank, 1, 5);
  f->Int("per_graph", &o->per_graph, 1, 1'000'000);
  f->Int("sizes_per_graph", &o->sizes_per_graph, 0, 64);
  f->Double("fan_out", &o->fan_out, 0, 1);
  f->Double("as_modules", &o->as_modules, 0, 1);
  f->Double("broadcast", &o->broadcast, 0, 1);
  f->Text("held_out", &o->held_out);
  f->Texts("avoid", &o->avoid);
  f->Double("test_share", &o->test_share, 0, 1);
  f->Choice("split_by", &o->split_by, kSplits);
  const char* key = "sizes";
  try {
    synth::Domain::Parse(o->sizes);
    key = "image_sizes";
    if (!o->image_sizes.empty()) synth::Domain::Parse(o->image_sizes);
    key = "held_out";
    synth::HeldOut::Parse(o->held_out);
  } catch (const UserError& error) {
    f->Fail(key, error.what());
  }
}

void DescribeEval(config::Fields* f, EvalOptions* o) {
  f->Text("shapes", &o->shapes);
  try {
    if (!o->shapes.empty()) synth::Domain::Parse(o->shapes);
  } catch (const UserError& error) {
    f->Fail("shapes", error.what());
  }
}

// A stage is made when its name is known, and describes the rest of its table itself.
void DescribeStages(config::Fields* f, std::vector<std::unique_ptr<Stage>>* stages) {
  f->Sections(
      "stage",
      [&](size_t given) {
        if (given > 0) {
          stages->clear();  // those of a file that this one builds on
          stages->resize(given);
        }
        return stages->size();
      },
      [&](size_t index, config::Fields* g) {
        std::unique_ptr<Stage>& stage = (*stages)[index];
        std::string name(stage ? stage->name() : "");
        g->Choice("name", &name, StageNames());
        if (!stage) stage = MakeStage(name);
        stage->Describe(g);
      });
}

}  // namespace

int64_t TotalPrograms(const std::vector<LevelOptions>& levels) {
  int64_t sum = 0;
  for (const LevelOptions& level : levels) sum += level.programs;
  return sum;
}

int64_t BuildOptions::total_programs() const {
  return TotalPrograms(levels);
}

int64_t BuildOptions::shards() const {
  return CeilDiv(total_programs(), shard_programs);
}

void Describe(config::Fields* f, BuildOptions* o) {
  f->Int("seed", &o->seed, 0, kMostSeed);
  f->Text("out", &o->out);
  f->Int("shard_programs", &o->shard_programs, 1, 100'000);
  f->Double("budget_seconds", &o->budget_seconds, 1, 3600);
  f->Section("programs", [o](config::Fields* g) { DescribePrograms(g, &o->programs); });
  f->Sections("level", &o->levels, DescribeLevel);
  f->Section("teacher", [o](config::Fields* g) {
    g->Text("name", &o->teacher.name);
    g->Int("answers", &o->teacher.answers, 1, 64);
    g->Bool("strict", &o->teacher.strict);
    g->Bool("simple", &o->teacher.simple);
    g->Double("lines", &o->teacher.lines, 0, 1);
    g->Bool("plain", &o->teacher.plain);
  });
  DescribeStages(f, &o->stages);
  f->Section("eval", [o](config::Fields* g) { DescribeEval(g, &o->eval); });
  if (o->levels.empty())
    f->Fail("level", "which programs? Give at least one table [[level]] with level = 1 and programs = 100");
}

BuildOptions ReadBuildOptions(std::string_view text, const std::string& file) {
  BuildOptions options;
  config::ReadToml(text, file, [&](config::Fields* fields) { Describe(fields, &options); });
  return options;
}

nlohmann::ordered_json Identity(BuildOptions* options) {
  nlohmann::ordered_json identity =
      config::WriteJson([&](config::Fields* fields) { Describe(fields, options); });
  identity.erase("out");
  identity.erase("eval");
  // Of files that fingerprints come from, their contents count.
  nlohmann::ordered_json avoid = nlohmann::ordered_json::array();
  for (const std::string& path : options->programs.avoid) avoid.push_back(Sha256Hex(ReadFile(path)));
  identity["programs"]["avoid"] = avoid;
  return identity;
}

}  // namespace tritogen::data
