#include "data/draw.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <future>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/splitmix.h"
#include "data/reference.h"
#include "program/print.h"
#include "synth/fingerprint.h"

namespace tritogen::data {
namespace {

std::set<std::string> ReadAvoided(const std::vector<std::string>& files) {
  std::set<std::string> avoided;
  for (const std::string& file : files) {
    try {
      avoided.merge(synth::ReadFingerprints(ReadFile(file, size_t{4} << 30)));
    } catch (const UserError& error) {
      throw UserError(fmt::format("'{}': {}", file, error.what()));
    }
  }
  return avoided;
}

synth::SamplerOptions OptionsOf(const ProgramOptions& p, const LevelOptions& level) {
  synth::SamplerOptions s;
  s.level = level.level;
  s.sketch.operators = synth::OperatorsNamed(level.operators);
  s.sketch.max_rank = static_cast<int>(p.max_rank);
  s.sketch.fan_out = p.fan_out;
  s.sketch.as_modules = p.as_modules;
  s.sketch.broadcast = p.broadcast;
  s.shapes.sizes = synth::Domain::Parse(level.sizes.empty() ? p.sizes : level.sizes);
  if (!p.image_sizes.empty()) s.shapes.image_sizes = synth::Domain::Parse(p.image_sizes);
  s.shapes.max_elements = p.max_elements;
  s.shapes.max_bytes = p.max_bytes;
  s.shapes.max_flops = p.max_flops;
  s.per_sketch = static_cast<int>(p.per_graph);
  s.sizes_per_sketch = static_cast<int>(p.sizes_per_graph);
  s.held_out = synth::HeldOut::Parse(p.held_out);
  return s;
}

}  // namespace

Draw::Draw(const BuildOptions& options) : Draw(options.seed, options.programs, options.levels) {}

Draw::Draw(uint64_t seed, const ProgramOptions& programs, const std::vector<LevelOptions>& levels,
           bool only_held_out, synth::Side shown, std::shared_ptr<synth::CountedKept> kept)
    : seed_(seed),
      test_share_(programs.test_share),
      split_by_graph_(programs.split_by == "graph"),
      total_(TotalPrograms(levels)) {
  const std::set<std::string> avoided = ReadAvoided(programs.avoid);
  if (kept == nullptr) kept = std::make_shared<synth::CountedKept>();  // one for all levels
  for (const LevelOptions& level : levels) {
    synth::SamplerOptions sampler = OptionsOf(programs, level);
    sampler.seed = SplitMix::At(seed_, levels_.size());
    sampler.avoid = avoided;
    sampler.held_out.only = only_held_out;
    sampler.shown = shown;
    sampler.solver.kept = kept;
    sampler.shown_by_graph = split_by_graph_;
    sampler.test_share = test_share_;
    levels_.push_back({level.programs, 0, std::make_unique<synth::Sampler>(std::move(sampler))});
  }
}

// The level that is furthest behind its share.
Draw::Level* Draw::Due() {
  auto behind = [this](const Level& level) {
    return static_cast<__int128>(next_ + 1) * level.programs - static_cast<__int128>(level.drawn) * total_;
  };
  Level* due = nullptr;
  for (Level& level : levels_) {
    if (level.drawn < level.programs && (due == nullptr || behind(level) > behind(*due))) due = &level;
  }
  TRITOGEN_CHECK(due != nullptr);
  return due;
}

bool Draw::SkipTo(int64_t number, const std::function<bool()>& stop) {
  std::vector<int64_t> before;
  for (const Level& level : levels_) before.push_back(level.drawn);
  for (; next_ < number; ++next_) ++Due()->drawn;
  std::atomic<bool> stopped = false;
  std::vector<std::future<void>> levels;
  for (size_t i = 0; i < levels_.size(); ++i) {
    levels.push_back(std::async(std::launch::async, [&level = levels_[i], from = before[i], &stopped] {
      for (int64_t n = from; n < level.drawn && !stopped; ++n) level.sampler->Next();
    }));
  }
  for (std::future<void>& level : levels) {
    while (level.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
      if (stop()) stopped = true;
    }
  }
  for (std::future<void>& level : levels) level.get();  // throws what a sampler threw
  return !stopped;
}

Record Draw::Next() {
  Level* level = Due();
  synth::Sample sample = level->sampler->Next();
  ++level->drawn;
  Record record{.draw = next_++, .seed = seed_};
  record.reference = ReferenceFile(sample.sized, sample.text);
  record.program = std::move(sample.text);
  record.fingerprint = std::move(sample.fingerprint);
  record.graph_fingerprint = std::move(sample.graph_fingerprint);
  const bool test = synth::SideOf(split_by_graph_ ? record.graph_fingerprint : record.fingerprint,
                                  test_share_) == synth::Side::kTest;
  record.split = test ? "test" : "train";
  record.level = static_cast<int>(sample.operators.size());
  record.ops = std::move(sample.operators);
  const Program& program = sample.sized.program;
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::kInput) record.inputs.push_back(ShapeText(node.results[0]));
  }
  for (NodeRef ref : program.outputs)
    record.outputs.push_back(ShapeText(program.nodes[ref.id].results[ref.result]));
  record.flops = sample.sized.flops;
  record.bytes = sample.sized.bytes;
  record.parsed = std::make_shared<const Program>(std::move(sample.sized.program));
  return record;
}

}  // namespace tritogen::data
