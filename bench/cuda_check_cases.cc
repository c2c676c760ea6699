#include "cuda_check_cases.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <iostream>

#include "base/dtype.h"
#include "tile/lanes/lanes.h"
#include "tile/tile.h"

namespace tritogen::cuda {
namespace {

using nlohmann::json;
namespace lanes = tile::lanes;

struct Buffer {
  std::string bytes;
  Dtype dtype = Dtype::kFloat32;
  std::optional<double> tolerance;  // nothing: not compared
};

struct Case {
  std::string name, ttir;
  KernelOptions options;
  std::array<int64_t, 3> grid{1, 1, 1};
  std::vector<Buffer> buffers;
  std::vector<KernelArg> args;  // tensor ids are indices of buffers
};

KernelArg ParseArgument(const json& at) {
  if (at.contains("int")) return at["int"].get<int64_t>();
  if (at.contains("float")) return at["float"].get<double>();
  const auto buffer = at["buffer"].get<TensorId>();
  if (!at.contains("shape")) return PointerArg{buffer};
  return DescriptorArg{buffer, at["shape"], at["strides"], at["block"]};
}

Case ParseCase(const json& at) {
  Case test{at["name"], at["ttir"], {}, at["grid"], {}, {}};
  test.options.num_warps = at["num_warps"];
  for (const json& buffer : at["buffers"]) {
    const auto& data = buffer["data"].get_binary();
    const json& tolerance = buffer["tolerance"];
    test.buffers.push_back({std::string(data.begin(), data.end()),
                            DtypeFromName(buffer["dtype"].get<std::string>()).value(),
                            tolerance.is_null() ? std::nullopt : std::optional<double>(tolerance)});
  }
  for (const json& argument : at["arguments"]) test.args.push_back(ParseArgument(argument));
  return test;
}

template <typename T>
T As(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

double Decode(Dtype dtype, const char* bytes) {
  switch (dtype) {
    case Dtype::kFloat64:
      return As<double>(bytes);
    case Dtype::kFloat32:
      return As<float>(bytes);
    case Dtype::kFloat16:
      return lanes::HalfToFloat(As<uint16_t>(bytes));
    case Dtype::kBFloat16:
      return lanes::BFloatToFloat(As<uint16_t>(bytes));
    case Dtype::kFloat8E4M3:
      return lanes::E4M3ToFloat(As<uint8_t>(bytes));
    default:
      return lanes::E5M2ToFloat(As<uint8_t>(bytes));
  }
}

bool Close(double expected, double got, double tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return expected == got;
  return std::abs(got - expected) <= tolerance + tolerance * std::abs(expected);
}

// "" when equal within the tolerance, else what differs.
std::string Difference(const Buffer& expected, const std::string& got) {
  const size_t size = DtypeSize(expected.dtype), count = expected.bytes.size() / size;
  for (size_t i = 0; i < count; ++i) {
    const char *a = expected.bytes.data() + i * size, *b = got.data() + i * size;
    if (std::memcmp(a, b, size) == 0) continue;
    if (!IsFloating(expected.dtype)) return fmt::format("element {} of {} differs", i, count);
    const double e = Decode(expected.dtype, a), g = Decode(expected.dtype, b);
    if (!Close(e, g, *expected.tolerance)) return fmt::format("element {} of {}: {} and {}", i, count, e, g);
  }
  return "";
}

// The buffers as the GPU leaves them.
std::vector<std::string> RunOnGpu(const Gpu& gpu, const Case& test) {
  const LoadedKernel kernel(gpu.driver, gpu.device, MustCompile(gpu, test.ttir, test.options));
  std::deque<DeviceMemory> memory, scratch;
  for (const Buffer& buffer : test.buffers) {
    memory.emplace_back(gpu.driver, buffer.bytes.size());
    Check(gpu.driver.cuMemcpyHtoDAsync(memory.back().address(), buffer.bytes.data(), buffer.bytes.size(),
                                       gpu.stream),
          "copy to the GPU");
  }
  LaunchVariant variant;
  variant.grid = test.grid;
  variant.args = test.args;
  LaunchKernel(
      kernel, variant, [&](TensorId id) { return memory.at(id).address(); }, gpu.stream,
      [&](int64_t bytes, int64_t) { return scratch.emplace_back(gpu.driver, bytes).address(); });
  std::vector<std::string> results;
  for (size_t i = 0; i < memory.size(); ++i) {
    results.emplace_back(test.buffers[i].bytes.size(), '\0');
    Check(gpu.driver.cuMemcpyDtoHAsync(results[i].data(), memory[i].address(), results[i].size(), gpu.stream),
          "copy from the GPU");
  }
  if (!SynchronizeWithin(gpu.driver, gpu.stream, 10)) {
    std::cerr << test.name << " hangs\n";
    _exit(1);  // freeing its memory would wait for it
  }
  return results;
}

// The buffers as the tile machine leaves them. Throws TtirError for what the CPU cannot run.
std::vector<Buffer> RunOnTileMachine(const Case& test) {
  const auto kernel = tile::Load(test.ttir);
  std::vector<tile::Argument> arguments;
  for (const KernelArg& arg : test.args) {
    if (const auto* pointer = std::get_if<PointerArg>(&arg))
      arguments.push_back(tile::PointerArgument{pointer->tensor, 0});
    else if (const auto* desc = std::get_if<DescriptorArg>(&arg))
      arguments.push_back(
          tile::DescriptorArgument{desc->tensor, 0, desc->shape, desc->strides, desc->pad_nan});
    else if (const auto* integer = std::get_if<int64_t>(&arg))
      arguments.push_back(*integer);
    else
      arguments.push_back(std::get<double>(arg));
  }
  std::vector<Buffer> results = test.buffers;
  std::vector<tile::Buffer> buffers;
  for (Buffer& buffer : results)
    buffers.push_back(
        {reinterpret_cast<std::byte*>(buffer.bytes.data()), buffer.bytes.size(), nullptr, "buffer"});
  tile::LaunchOptions options;
  options.grid = test.grid;
  const tile::LaunchReport report = tile::Launch(*kernel, arguments, buffers, options);
  if (!report.faults.empty()) throw std::runtime_error("tile machine: " + report.faults[0].message);
  return results;
}

// "" when both agree. `gpu_only`: the tile machine does not run it.
std::string Compare(const Gpu& gpu, const Case& test, bool* gpu_only) {
  const std::vector<std::string> got = RunOnGpu(gpu, test);
  std::vector<Buffer> expected;
  try {
    expected = RunOnTileMachine(test);
  } catch (const tile::TtirError& error) {
    if (!error.unsupported()) throw;
    *gpu_only = true;
    return "";
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i].tolerance) continue;
    if (std::string what = Difference(expected[i], got[i]); !what.empty())
      return fmt::format("buffer {}: {}", i, what);
  }
  return "";
}

class Tally {
 public:
  void Run(const Gpu& gpu, const std::string& name, const Case& test) {
    ++tried_;
    bool gpu_only = false;
    std::string problem;
    try {
      problem = Compare(gpu, test, &gpu_only);
    } catch (const NotCompiled& error) {
      not_compiled_[name] = std::string(error.what()).substr(0, 400);
      return;
    } catch (const Error& error) {
      if (error.sticky()) throw std::runtime_error(fmt::format("{}: {}", name, error.what()));
      problem = error.what();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    if (!problem.empty())
      wrong_[name] = problem.substr(0, 400);
    else if (gpu_only)
      gpu_only_.push_back(name);
    else
      ++agree_;
  }

  json Result() const {
    return {{"ok", wrong_.empty()},          {"tried", tried_}, {"agree", agree_}, {"gpu_only", gpu_only_},
            {"not_compiled", not_compiled_}, {"wrong", wrong_}};
  }

 private:
  int tried_ = 0, agree_ = 0;
  json gpu_only_ = json::array(), wrong_ = json::object(), not_compiled_ = json::object();
};

constexpr char kScalars[] = R"(
module {
  tt.func public @scalars(%out: !tt.ptr<f64>, %a: i1, %b: i8, %c: i16, %d: i32, %e: i64, %f: f16, %g: bf16,
                          %h: f32, %i: f64) {
    %1 = arith.constant 1 : i32
    %a1 = arith.uitofp %a : i1 to f64
    tt.store %out, %a1 : !tt.ptr<f64>
    %p1 = tt.addptr %out, %1 : !tt.ptr<f64>, i32
    %b1 = arith.sitofp %b : i8 to f64
    tt.store %p1, %b1 : !tt.ptr<f64>
    %p2 = tt.addptr %p1, %1 : !tt.ptr<f64>, i32
    %c1 = arith.sitofp %c : i16 to f64
    tt.store %p2, %c1 : !tt.ptr<f64>
    %p3 = tt.addptr %p2, %1 : !tt.ptr<f64>, i32
    %d1 = arith.sitofp %d : i32 to f64
    tt.store %p3, %d1 : !tt.ptr<f64>
    %p4 = tt.addptr %p3, %1 : !tt.ptr<f64>, i32
    %e1 = arith.sitofp %e : i64 to f64
    tt.store %p4, %e1 : !tt.ptr<f64>
    %p5 = tt.addptr %p4, %1 : !tt.ptr<f64>, i32
    %f1 = arith.extf %f : f16 to f64
    tt.store %p5, %f1 : !tt.ptr<f64>
    %p6 = tt.addptr %p5, %1 : !tt.ptr<f64>, i32
    %g1 = arith.extf %g : bf16 to f64
    tt.store %p6, %g1 : !tt.ptr<f64>
    %p7 = tt.addptr %p6, %1 : !tt.ptr<f64>, i32
    %h1 = arith.extf %h : f32 to f64
    tt.store %p7, %h1 : !tt.ptr<f64>
    %p8 = tt.addptr %p7, %1 : !tt.ptr<f64>, i32
    tt.store %p8, %i : !tt.ptr<f64>
    tt.return
  }
}
)";

}  // namespace

std::shared_ptr<const CompiledKernel> MustCompile(const Gpu& gpu, const std::string& ttir,
                                                  const KernelOptions& options) {
  const Kernel kernel{"kernel", ttir, "", "", options};
  const CompileResult result = gpu.compiler.Compile(std::span(&kernel, 1), gpu.device.target())[0];
  if (const auto* failure = std::get_if<CompileFailure>(&result))
    throw NotCompiled(fmt::format("{}: {}", ReasonName(failure->reason), failure->detail));
  return std::get<0>(result);
}

json CheckCases(const Gpu& gpu, const json& cases) {
  Tally tally;
  for (const json& at : cases) tally.Run(gpu, at["name"], ParseCase(at));
  return tally.Result();
}

json CheckLaunchKinds(const Gpu& gpu, const json& cases) {
  Tally tally;
  for (const json& at : cases) {
    const Case test = ParseCase(at);
    if (test.name != "vector_add" && test.name != "softmax_rows" && test.name != "matmul_fp16_ieee" &&
        test.name != "host_descriptor")
      continue;
    auto run = [&](const char* kind, auto change) {
      Case changed = test;
      change(&changed.options);
      tally.Run(gpu, fmt::format("{} {}", test.name, kind), changed);
    };
    run("num_ctas=2", [](KernelOptions* o) { o->num_ctas = 2; });
    run("num_ctas=16", [](KernelOptions* o) { o->num_ctas = 16; });  // more than the portable size
    run("cooperative", [](KernelOptions* o) { o->launch_cooperative_grid = true; });
    run("pdl", [](KernelOptions* o) { o->launch_pdl = true; });
    run("maxnreg=32", [](KernelOptions* o) { o->maxnreg = 32; });
    run("num_warps=8", [](KernelOptions* o) { o->num_warps = 8; });
    run("num_stages=1", [](KernelOptions* o) { o->num_stages = 1; });
  }
  return tally.Result();
}

json CheckScalars(const Gpu& gpu) {
  Case test{"scalars", kScalars, {}, {1, 1, 1}, {{std::string(9 * 8, '\0'), Dtype::kFloat64, 0.0}}, {}};
  test.args = {PointerArg{0},
               int64_t{1},
               int64_t{-7},
               int64_t{-30000},
               int64_t{1} << 30,
               int64_t{-1} - (int64_t{1} << 40),
               0.333251953125,
               -1.5,
               0.1,
               0.1};
  Tally tally;
  tally.Run(gpu, "scalars", test);
  json result = tally.Result();
  const std::string bytes = RunOnGpu(gpu, test)[0];
  for (int i = 0; i < 9; ++i) result["values"].push_back(As<double>(bytes.data() + 8 * i));
  return result;
}

}  // namespace tritogen::cuda
