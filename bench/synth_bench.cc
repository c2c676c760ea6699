// Programs a second, text and fingerprints included, on one core; and what a graph costs before its first.
//   synth_bench --benchmark_filter=Programs
#include <benchmark/benchmark.h>

#include "synth/record.h"
#include "synth/sampler.h"

namespace tritogen::synth {
namespace {

SamplerOptions Options(int level, int per_sketch, std::string_view operators) {
  SamplerOptions options{.level = level, .seed = 1, .per_sketch = per_sketch};
  options.sketch.operators = OperatorsNamed(operators);
  return options;
}

// DRTriton's operators without convolutions, pools and the like: what its training set consists of mostly.
constexpr std::string_view kCore =
    "add,sub,mul,div,maximum,minimum,lerp,sum,mean,argmax,argmin,matmul,bmm,transpose,triu,tril,relu,"
    "leaky_relu,sigmoid,tanh,silu,gelu,selu,hardsigmoid,softplus,elu,hardtanh,clamp,softmax,log_softmax,cos,"
    "sin,"
    "exp2,abs,cumsum,cummax,cummin,layer_norm";

void Programs(benchmark::State& state, std::string_view operators) {
  Sampler sampler(Options(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), operators));
  int64_t bytes = 0, programs = 0;
  for (auto _ : state) {
    const Sample sample = sampler.Next();
    bytes += static_cast<int64_t>(sample.text.size());
    ++programs;
  }
  const auto& statistics = sampler.statistics();
  state.counters["programs/s"] =
      benchmark::Counter(static_cast<double>(programs), benchmark::Counter::kIsRate);
  state.counters["graphs"] = static_cast<double>(statistics.sketches);
  state.counters["compiled"] = static_cast<double>(sampler.solver().statistics().compiled);
  state.counters["accepted"] = static_cast<double>(programs) / static_cast<double>(statistics.draws);
  state.counters["bytes/program"] = static_cast<double>(bytes) / static_cast<double>(programs);
}

void Grid(benchmark::internal::Benchmark* bench) {
  for (int level : {1, 5, 20}) {
    for (int per_sketch : {1, 16}) bench->Args({level, per_sketch});
  }
}
BENCHMARK_CAPTURE(Programs, core, kCore)->Apply(Grid)->MinTime(2);
BENCHMARK_CAPTURE(Programs, all, "all")->Apply(Grid)->MinTime(2);

// Drawing a graph, stating its system and counting it, nothing kept from before.
void Compile(benchmark::State& state, std::string_view operators) {
  const SamplerOptions options = Options(static_cast<int>(state.range(0)), 1, operators);
  uint64_t number = 0;
  int64_t exact = 0, graphs = 0;
  for (auto _ : state) {
    SplitMix random(SplitMix::Mix(number++));
    const Sketch sketch = DrawSketch(options.sketch, options.level, &random);
    const auto space = Solver().Compile(SystemOf(sketch, options.shapes).system);
    exact += space && space->exact();
    ++graphs;
  }
  state.counters["exact"] = static_cast<double>(exact) / static_cast<double>(graphs);
}
BENCHMARK_CAPTURE(Compile, core, kCore)->Arg(5)->Arg(20)->Unit(benchmark::kMillisecond)->MinTime(2);
BENCHMARK_CAPTURE(Compile, all, "all")->Arg(5)->Arg(20)->Unit(benchmark::kMillisecond)->MinTime(2);

}  // namespace
}  // namespace tritogen::synth

BENCHMARK_MAIN();
