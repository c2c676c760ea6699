// synth: random PyTorch programs as JSON lines, and what a graph's constraint system is.
#include <fmt/format.h>

#include <optional>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/numbers.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "synth/explain.h"
#include "synth/fingerprint.h"
#include "synth/record.h"
#include "synth/sampler.h"

namespace tritogen {
namespace {

constexpr int64_t kMostPrograms = 2'000'000;  // the file is complete or absent, so it is held in memory

struct SynthOptions {
  int64_t count = 1;
  std::string operators = "all", sizes = "common", image_sizes, held_out, split = "all", out, graph;
  std::vector<std::string> avoid;
  bool only_held_out = false, explain = false;
  synth::SamplerOptions sampler;
};

void AddOptions(CLI::App* app, SynthOptions* o) {
  synth::SamplerOptions& s = o->sampler;
  app->add_option("--level", s.level, "compute operations in a program")->check(CLI::Range(1, 64));
  app->add_option("--count", o->count, "programs to write")->check(CLI::Range(int64_t{1}, kMostPrograms));
  app->add_option("--seed", s.seed, "the same seed and options give the same programs")->check(kSeed);
  app->add_option(
      "--ops", o->operators,
      "operators: all, names, or classes (pointwise, reductions, products, norms, layouts, others);\n"
      "./tritogen program --operators lists them");
  app->add_option("--sizes", o->sizes,
                  "sizes of inputs' dimensions: common (30), many (250), or a set such as 1..64,100,128");
  app->add_option("--image-sizes", o->image_sizes,
                  "sizes behind batch and channels of what an operator takes first (default: as --sizes)");
  app->add_option("--max-rank", s.sketch.max_rank, "dimensions of a tensor")->check(CLI::Range(1, 5));
  app->add_option("--max-elements", s.shapes.max_elements, "elements of one tensor")->check(kPositive);
  app->add_option("--min-elements", s.shapes.min_elements, "elements of one tensor")->check(kPositive);
  app->add_option("--max-flops", s.shapes.max_flops, "floating-point operations of a program")
      ->check(kPositive);
  app->add_option("--min-flops", s.shapes.min_flops, "floating-point operations of a program")
      ->check(kNonNegative);
  app->add_option("--max-bytes", s.shapes.max_bytes, "bytes of all inputs and results")->check(kPositive);
  app->add_option("--fan-out", s.sketch.fan_out, "how often a tensor may be used again")
      ->check(NumberIn(0, 1));
  app->add_option("--as-modules", s.sketch.as_modules,
                  "how often a call is as real modules have it: other overloads, numbers for operands, any\n"
                  "real number, integers by default or larger than in the catalogue, square windows\n"
                  "and images")
      ->check(NumberIn(0, 1));
  app->add_option("--broadcast", s.sketch.broadcast, "how often sizes of operands may differ and broadcast")
      ->check(NumberIn(0, 1));
  app->add_flag(
      "--jumps", s.sketch.jumps,
      "also comparisons, floor and the like of values that were rounded, which two right answers may\n"
      "answer differently");
  app->add_option("--per-graph", s.per_sketch, "programs from one graph, of different sizes")
      ->check(CLI::Range(1, 1'000'000));
  app->add_option("--sizes-per-graph", s.sizes_per_sketch,
                  "draw so many of --sizes for each graph, small ones as often as large ones (0: all)")
      ->check(CLI::Range(0, 64));
  app->add_option("--hold-out", o->held_out, "operators and pairs that must not come: relu,matmul>tanh");
  app->add_flag("--only-held-out", o->only_held_out, "only programs that have what is held out");
  app->add_option("--split", o->split, "which side of the split of all programs by fingerprint")
      ->check(CLI::IsMember({"all", "train", "test"}));
  app->add_option("--test-share", s.test_share, "share of the test side")->check(NumberIn(0, 1));
  app->add_option("--avoid", o->avoid,
                  "files of fingerprints, or of this command's lines, that must not come again");
  app->add_option("--out", o->out, "file of JSON lines; standard output when absent");
  app->add_option("--explain", o->graph,
                  "print the variables, constraints and number of solutions of this graph, such as\n"
                  "'h = matmul(x:2, w:2); relu(h)', or, without a graph, of the first one drawn")
      ->expected(0, 1);
}

void Finish(SynthOptions* o) {
  synth::SamplerOptions& s = o->sampler;
  s.sketch.operators = synth::OperatorsNamed(o->operators);
  s.shapes.sizes = synth::Domain::Parse(o->sizes);
  if (!o->image_sizes.empty()) s.shapes.image_sizes = synth::Domain::Parse(o->image_sizes);
  s.held_out = synth::HeldOut::Parse(o->held_out);
  s.held_out.only = o->only_held_out;
  if (o->only_held_out && o->held_out.empty()) throw UserError("--only-held-out needs --hold-out");
  s.side = o->split == "train"  ? synth::Side::kTrain
           : o->split == "test" ? synth::Side::kTest
                                : synth::Side::kAll;
  for (const std::string& path : o->avoid) {
    try {
      s.avoid.merge(synth::ReadFingerprints(ReadFile(path, size_t{4} << 30)));
    } catch (const UserError& error) {
      throw UserError(fmt::format("'{}': {}", path, error.what()));
    }
  }
}

int PrintExplanation(const SynthOptions& o) {
  SplitMix random(o.sampler.seed);
  const synth::Sketch sketch = o.graph.empty() ? synth::DrawSketch(o.sampler.sketch, o.sampler.level, &random)
                                               : synth::ParseSketch(o.graph);
  fmt::print("{}", synth::Explain(sketch, o.sampler.shapes, o.sampler.seed));
  return 0;
}

std::string Summary(const synth::Sampler& sampler, int64_t count) {
  const auto& s = sampler.statistics();
  const double tried = static_cast<double>(std::max<int64_t>(1, s.draws));
  return fmt::format(
      "{} programs from {} graphs ({} without solution, {} too large to count, {} held out); of {} draws "
      "{:.1f} % "
      "were over bounds, {:.1f} % over limits, {} had come before, {} were to be avoided\n",
      count, s.sketches, s.impossible, s.too_large, s.held_out, s.draws,
      100 * static_cast<double>(s.over_bounds) / tried, 100 * static_cast<double>(s.over_limits) / tried,
      s.repeated, s.avoided);
}

}  // namespace

int RunSynth(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Random PyTorch programs: operator graphs with fan-out, sizes drawn uniformly from all that fit.",
      "./tritogen synth");
  SynthOptions options;
  AddOptions(&app, &options);
  if (auto code = Parse(&app, argc, argv)) return *code;
  Finish(&options);
  if (app.count("--explain") > 0) return PrintExplanation(options);
  RequireWritable(options.out, options.avoid);

  CatchInterrupt();
  synth::Sampler sampler(options.sampler);
  std::string lines;
  {
    Progress progress("synth", options.count);
    for (int64_t i = 0; i < options.count; ++i) {
      if (Interrupted()) return kInterruptedExit;
      const std::string line = synth::JsonLine(sampler.Next());
      if (options.out.empty())
        fmt::print("{}", line);
      else
        lines += line;
      if (i % 64 == 63 || i + 1 == options.count) progress.Set(i + 1);
    }
  }
  if (!options.out.empty()) WriteFileAtomic(options.out, lines);
  fmt::print(stderr, "{}", Summary(sampler, options.count));
  return 0;
}

}  // namespace tritogen
