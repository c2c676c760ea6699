// What the teacher takes for programs of many operations: blocks of linear, gelu, residual sum and layer
// norm.
//   teach_bench            (argument: operations of the program)
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "program/canonical.h"
#include "program/parse.h"
#include "teach/lower.h"
#include "teach/partition.h"
#include "teach/teacher.h"

namespace tritogen::teach {
namespace {

Program Blocks(int operations) {
  std::string inputs = "x", shapes = "    # x: float32[64, 96]\n", body, h = "x";
  for (int i = 0; i < operations / 4; ++i) {
    inputs += fmt::format(", w{0}, b{0}, g{0}, s{0}", i);
    shapes += fmt::format("    # w{}: float32[96, 96]\n", i);
    for (const char* name : {"b", "g", "s"}) shapes += fmt::format("    # {}{}: float32[96]\n", name, i);
    const char* type = "float32[64, 96]";
    body += fmt::format("    l{0} = torch.nn.functional.linear({1}, w{0}, b{0})  # {2}\n", i, h, type);
    body += fmt::format("    a{0} = torch.nn.functional.gelu(l{0})  # {1}\n", i, type);
    body += fmt::format("    r{0} = torch.add(a{0}, {1})  # {2}\n", i, h, type);
    body +=
        fmt::format("    n{0} = torch.nn.functional.layer_norm(r{0}, [96], g{0}, s{0})  # {1}\n", i, type);
    h = fmt::format("n{}", i);
  }
  Program program = ParseProgram(
      fmt::format("import torch\n\n\ndef program({}):\n{}{}    return {}\n", inputs, shapes, body, h));
  Canonicalise(&program);
  return program;
}

void Lowering(benchmark::State& state) {
  const Program program = Blocks(static_cast<int>(state.range(0)));
  size_t prims = 0;
  for (auto _ : state) prims = Lower(program, {})->prims.size();
  state.counters["prims"] = static_cast<double>(prims);
}

void Grouping(benchmark::State& state) {
  const Graph graph = InlineViews(*Lower(Blocks(static_cast<int>(state.range(0))), {}));
  size_t kernels = 0;
  for (auto _ : state) kernels = Partition(graph).size();
  state.counters["kernels"] = static_cast<double>(kernels);
}

void Answers(benchmark::State& state) {
  const Program program = Blocks(static_cast<int>(state.range(0)));
  Request request;
  request.program = &program;
  request.strict = request.is_function = true;
  request.entry = "program";
  request.count = 4;
  request.seed = 1;
  for (auto _ : state) benchmark::DoNotOptimize(Teach(request));
}

BENCHMARK(Lowering)->Arg(16)->Arg(64)->Arg(248)->Unit(benchmark::kMillisecond);
BENCHMARK(Grouping)->Arg(16)->Arg(64)->Arg(248)->Unit(benchmark::kMillisecond);
BENCHMARK(Answers)->Arg(16)->Arg(64)->Arg(248)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tritogen::teach

BENCHMARK_MAIN();
