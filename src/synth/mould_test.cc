// Moulds and lines against their plain twins.
#include "synth/mould.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "synth/record.h"
#include "synth/sampler.h"

namespace tritogen::synth {
namespace {

std::vector<Sample> Samples(int level, int per_sketch, int count, uint64_t seed) {
  SamplerOptions options{.level = level, .seed = seed, .per_sketch = per_sketch};
  options.sketch.operators = OperatorsNamed("all");
  Sampler sampler(options);
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) samples.push_back(sampler.Next());
  return samples;
}

TEST(Mould, ProgramsTextsAndFingerprintsAreThoseOfTheirPlainTwins) {
  SketchOptions options;
  options.operators = OperatorsNamed("all");
  options.fan_out = 0.5;
  int programs = 0, several_graphs = 0;
  Solver solver;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SplitMix random(seed);
    const Sketch sketch = DrawSketch(options, 1 + static_cast<int>(seed % 7), &random);
    const SketchSystem system = SystemOf(sketch, {});
    const auto space = solver.Compile(system.system);
    if (!space || space->count().IsZero()) continue;
    Mould mould(sketch);
    several_graphs += !mould.one_graph();
    for (int i = 0; i < 6; ++i) {
      std::vector<int64_t> values;
      space->Draw(&random, &values);
      mould.Pour(system, values);
      const SizedProgram plain = ProgramOf(sketch, system, values);
      EXPECT_EQ(mould.sized().flops, plain.flops);
      EXPECT_EQ(mould.sized().bytes, plain.bytes);
      ASSERT_EQ(mould.sized().inputs.size(), plain.inputs.size());
      for (size_t n = 0; n < plain.inputs.size(); ++n) {
        EXPECT_EQ(mould.sized().inputs[n].low, plain.inputs[n].low);
        EXPECT_EQ(mould.sized().inputs[n].high, plain.inputs[n].high);
      }
      EXPECT_EQ(mould.SizesFingerprint(), Fingerprint(plain.program, Detail::kSizes));
      EXPECT_EQ(mould.GraphFingerprint(), Fingerprint(plain.program, Detail::kGraph));
      EXPECT_EQ(PrintProgram(mould.sized().program), PrintProgram(plain.program));
      if (i % 2 == 0) {  // not of every program poured
        EXPECT_EQ(mould.Text(), PrintProgram(plain.program));
      }
      ++programs;
    }
  }
  EXPECT_GT(programs, 500);
  EXPECT_GT(several_graphs, 20);
}

TEST(Mould, KnowsEveryGraphThatItsProgramsHave) {
  SketchOptions options;
  options.operators = OperatorsNamed("conv2d,max_pool1d,relu,narrow,repeat_interleave,add,topk");
  Solver solver;
  int unlike = 0, known = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SplitMix random(seed);
    const SketchSystem system = SystemOf(DrawSketch(options, 2, &random), {});
    random = SplitMix(seed);
    Mould mould(DrawSketch(options, 2, &random));
    const auto space = solver.Compile(system.system);
    const auto graphs = mould.GraphFingerprints(64);
    if (!space || space->count().IsZero() || !graphs) continue;
    ++known;
    unlike += graphs->size() > 1;
    for (int i = 0; i < 20; ++i) {
      std::vector<int64_t> values;
      space->Draw(&random, &values);
      mould.Pour(system, values);
      EXPECT_EQ(std::ranges::count(*graphs, mould.GraphFingerprint()), 1) << mould.Text();
    }
  }
  EXPECT_GT(known, 40);
  EXPECT_GT(unlike, 10);
}

TEST(Sampler, WhatIsShownIsWhatAFilterBehindItKeeps) {
  for (const bool by_graph : {false, true}) {
    for (const Side side : {Side::kTrain, Side::kTest}) {
      SamplerOptions options{.level = 2, .seed = 5, .per_sketch = 3, .test_share = 0.1};
      options.sketch.operators = OperatorsNamed("all");
      Sampler all(options);
      options.shown = side;
      options.shown_by_graph = by_graph;
      Sampler shown(options);
      for (int i = 0; i < 60; ++i) {
        Sample sample = all.Next();
        while (SideOf(by_graph ? sample.graph_fingerprint : sample.fingerprint, 0.1) != side)
          sample = all.Next();
        EXPECT_EQ(JsonLine(shown.Next()), JsonLine(sample));
      }
      EXPECT_EQ(shown.statistics().passed_over > 0, by_graph && side == Side::kTest);
    }
  }
}

TEST(Sampler, SharingWhatIsCountedChangesNoProgram) {
  const auto kept = std::make_shared<CountedKept>(20);  // so few that it is emptied now and then
  for (const bool other_limit : {false, true}) {
    SamplerOptions options{.level = 3, .seed = 8, .per_sketch = 2};
    options.sketch.operators = OperatorsNamed("all");
    if (other_limit) options.solver.max_rows = 4096;
    Sampler alone(options);
    options.solver.kept = kept;
    Sampler first(options), second(options);
    for (int i = 0; i < 60; ++i) {
      const std::string line = JsonLine(alone.Next());
      EXPECT_EQ(JsonLine(first.Next()), line);
      EXPECT_EQ(JsonLine(second.Next()), line);
    }
    EXPECT_LT(second.solver().statistics().compiled, first.solver().statistics().compiled);
  }
}

TEST(Sampler, SaysSoWhenASideIsEmpty) {
  SamplerOptions options{.level = 1, .seed = 5, .shown = Side::kTest, .shown_by_graph = true};
  options.sketch.operators = OperatorsNamed("relu");
  options.test_share = 0;
  EXPECT_THROW(Sampler(options).Next(), UserError);
}

TEST(Record, LinesAreThoseOfTheJsonLibrary) {
  for (const int level : {1, 4}) {
    for (const Sample& sample : Samples(level, 4, 400, 7))
      EXPECT_EQ(JsonLine(sample), ToJson(sample).dump() + "\n");
  }
  Sample sample = Samples(1, 1, 1, 1)[0];
  for (const double odd : {0.0, -0.0, 1e15, 123456789012345.0, 1234567890123456.0, 1e300, 0.1, -2.5}) {
    sample.sized.flops = sample.sized.inputs[0].low = odd;
    EXPECT_EQ(JsonLine(sample), ToJson(sample).dump() + "\n");
  }
  sample.text = "say \"so\" \\ and\nso";
  EXPECT_EQ(JsonLine(sample), ToJson(sample).dump() + "\n");
}

}  // namespace
}  // namespace tritogen::synth
