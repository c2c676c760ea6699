#include "cuda/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/temp_dir.h"

namespace tritogen::cuda {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Reason = CompileFailure::Reason;

CompilerOptions Options(const fs::path& cache) {
  const char* python = std::getenv("TRITOGEN_PYTHON");
  CompilerOptions options;
  options.python = python != nullptr ? python : TRITOGEN_SOURCE_DIR "/.venv/bin/python";
  options.worker_folder = TRITOGEN_SOURCE_DIR "/worker";
  options.cache_folder = cache;
  options.processes = 2;
  return options;
}

// One compiler for all tests that do not look at its cache.
KernelCompiler& Shared() {
  static TempDir cache;
  static KernelCompiler compiler(Options(cache.path()));
  return compiler;
}

Kernel Golden(const std::string& name, KernelOptions options = {}) {
  const fs::path path = fs::path(TRITOGEN_SOURCE_DIR) / "tests/golden/ttir" / (name + ".ttir");
  return {name, ReadFile(path), "", "", options};
}

CompileResult CompileOne(const Kernel& kernel, int capability = 90) {
  return Shared().Compile(std::span(&kernel, 1), TargetForCapability(capability))[0];
}

std::shared_ptr<const CompiledKernel> Good(const CompileResult& result) {
  if (auto* failure = std::get_if<CompileFailure>(&result)) {
    ADD_FAILURE() << ReasonName(failure->reason) << ": " << failure->detail;
    return std::make_shared<CompiledKernel>();
  }
  return std::get<0>(result);
}

CompileFailure Bad(const CompileResult& result) {
  if (auto* failure = std::get_if<CompileFailure>(&result)) return *failure;
  ADD_FAILURE() << "it was compiled";
  return {};
}

bool IsElf(const std::string& cubin) {
  return cubin.starts_with(
      "\x7f"
      "ELF");
}

std::string Module(const std::string& parameters, const std::string& body) {
  return "module { tt.func public @k(" + parameters + ") {\n" + body + "\ntt.return } }";
}

TEST(Compiler, SaysHowManyAreDone) {
  TempDir cache;
  KernelCompiler compiler(Options(cache.path()));
  const std::vector<Kernel> kernels = {{"k", Module("%p: !tt.ptr<f32>", ""), "", "", {}},
                                       {"k", Module("%p: !tt.ptr<f16>", ""), "", "", {}},
                                       {"k", Module("%p: !tt.ptr<f32>", ""), "", "", {}}};  // the first again
  std::vector<std::pair<int64_t, int64_t>> said;
  const auto say = [&](int64_t done, int64_t total) { said.emplace_back(done, total); };
  compiler.Compile(kernels, TargetForCapability(90), say);
  EXPECT_THAT(said, ::testing::ElementsAre(std::pair(0, 2), std::pair(1, 2), std::pair(2, 2)));
  said.clear();
  compiler.Compile(kernels, TargetForCapability(90), say);
  EXPECT_TRUE(said.empty());
}

TEST(Compiler, KernelsOfEveryKindBecomeCubins) {
  const std::vector<Kernel> kernels = {Golden("vector_add"), Golden("softmax_rows"),
                                       Golden("dot_fp16_to_fp32"), Golden("host_descriptor"),
                                       Golden("scalar_arguments")};
  const auto results = Shared().Compile(kernels, TargetForCapability(90));
  ASSERT_EQ(results.size(), kernels.size());
  for (const CompileResult& result : results) {
    const auto kernel = Good(result);
    EXPECT_TRUE(IsElf(kernel->cubin));
    EXPECT_GT(kernel->registers, 0);
    EXPECT_EQ(kernel->key.size(), 64u);
    EXPECT_EQ(kernel->scratch_parameters, 2);
  }
  EXPECT_EQ(Good(results[0])->name, "vector_add");
  EXPECT_EQ(Good(results[0])->shared_bytes, 0);
  EXPECT_GT(Good(results[2])->shared_bytes, 0);
}

TEST(Compiler, SignaturesAreTheFunctionsParameters) {
  const auto kernel = Good(CompileOne(Golden("scalar_arguments")));
  using Kind = Parameter::Kind;
  std::vector<std::pair<Kind, int>> found;
  for (const Parameter& parameter : kernel->parameters) found.emplace_back(parameter.kind, parameter.bits);
  EXPECT_THAT(found, testing::ElementsAre(std::pair(Kind::kPointer, 64), std::pair(Kind::kFloat32, 64),
                                          std::pair(Kind::kInteger, 32), std::pair(Kind::kFloat64, 64),
                                          std::pair(Kind::kInteger, 64), std::pair(Kind::kInteger, 1)));
  std::vector<int> bytes;
  for (const ParameterSlot& slot : kernel->slots) bytes.push_back(slot.bytes);
  EXPECT_THAT(bytes, testing::ElementsAre(8, 4, 4, 8, 8, 1, 8, 8));
}

TEST(Compiler, DescriptorsAreTensorMapsFromHopperOn) {
  const auto hopper = Good(CompileOne(Golden("host_descriptor")));
  const Parameter& map = hopper->parameters.at(0);
  EXPECT_EQ(map.kind, Parameter::Kind::kDescriptor);
  EXPECT_EQ(map.rank, 2);
  ASSERT_TRUE(map.has_tensor_map);
  EXPECT_EQ(map.tensor_map.element_bytes, 2);
  EXPECT_THAT(map.tensor_map.block, testing::ElementsAre(32, 64));
  const auto ampere = Good(CompileOne(Golden("host_descriptor"), 80));
  EXPECT_FALSE(ampere->parameters.at(0).has_tensor_map);
  EXPECT_EQ(ampere->slots.size(), 2u * (1 + 4 + 1 + 4) + 1 + 2);
}

TEST(Compiler, OptionsReachTheCode) {
  const auto plain = Good(CompileOne(Golden("matmul_fp16_ieee")));
  KernelOptions options;
  options.num_warps = 8;
  options.num_ctas = 2;
  options.launch_pdl = options.launch_cooperative_grid = true;
  const auto changed = Good(CompileOne(Golden("matmul_fp16_ieee", options)));
  EXPECT_EQ(changed->num_warps, 8);
  EXPECT_EQ(changed->num_ctas, 2);
  EXPECT_TRUE(changed->launch_pdl && changed->launch_cooperative_grid);
  EXPECT_FALSE(plain->launch_pdl || plain->launch_cooperative_grid);
  KernelOptions few;
  few.maxnreg = 40;
  EXPECT_GT(plain->registers, 40);
  EXPECT_LE(Good(CompileOne(Golden("matmul_fp16_ieee", few)))->registers, 40);
  KernelOptions unfused;
  unfused.enable_fp_fusion = false;
  const Kernel kernel{"k",
                      Module("%a: f32, %b: f32, %c: f32, %p: !tt.ptr<f32>",
                             "%m = arith.mulf %a, %b : f32\n%s = arith.addf %m, %c : f32\n"
                             "tt.store %p, %s : !tt.ptr<f32>"),
                      "",
                      "",
                      {}};
  Kernel other = kernel;
  other.options = unfused;
  const auto fused_text = Good(Shared().CompileWithPtx(kernel, {}))->ptx;
  const auto unfused_text = Good(Shared().CompileWithPtx(other, {}))->ptx;
  EXPECT_THAT(fused_text, HasSubstr("fma.rn.f32"));
  EXPECT_THAT(unfused_text, testing::Not(HasSubstr("fma.rn.f32")));
}

TEST(Compiler, LocationsDoNotCountEqualKernelsAreCompiledOnce) {
  TempDir cache;
  KernelCompiler compiler(Options(cache.path()));
  Kernel moved = Golden("vector_add.loc");
  const size_t place = moved.ttir.find(".py\"");
  ASSERT_NE(place, std::string::npos);
  moved.ttir.insert(place, "_of_somebody_else");
  const std::vector<Kernel> kernels = {Golden("vector_add.loc"), moved, Golden("vector_add.loc")};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const auto results = compiler.Compile(kernels, Target());
      EXPECT_EQ(Good(results[0])->key, Good(results[1])->key);
      EXPECT_EQ(Good(results[0])->key, Good(results[2])->key);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiler.counts().compiled, 1);
}

TEST(Compiler, WhatIsInTheCacheNeedsNoCompiler) {
  TempDir cache;
  const std::vector<Kernel> kernels = {Golden("vector_add"), {"bad", "this is no TTIR", "", "", {}}};
  std::string cubin;
  {
    KernelCompiler compiler(Options(cache.path()));
    const auto results = compiler.Compile(kernels, Target());
    cubin = Good(results[0])->cubin;
    EXPECT_EQ(Bad(results[1]).reason, Reason::kInvalid);
  }
  CompilerOptions options = Options(cache.path());
  options.worker_folder = "/nonexistent";
  KernelCompiler compiler(options);
  const auto results = compiler.Compile(kernels, Target());
  EXPECT_TRUE(Good(results[0])->cubin == cubin);
  EXPECT_EQ(Bad(results[1]).reason, Reason::kInvalid);
  EXPECT_EQ(compiler.counts().hits, 2);
  // The same text for another target is another kernel, and that needs the compiler.
  EXPECT_THROW(compiler.Compile(std::span(kernels).first(1), TargetForCapability(80)), UserError);
}

TEST(Compiler, TheSameTextGivesTheSameBytes) {
  TempDir first, second;
  const Kernel kernel = Golden("softmax_rows");
  const auto one = KernelCompiler(Options(first.path())).Compile(std::span(&kernel, 1), Target());
  const auto other = KernelCompiler(Options(second.path())).Compile(std::span(&kernel, 1), Target());
  EXPECT_TRUE(Good(one[0])->cubin == Good(other[0])->cubin);
}

TEST(Compiler, DamagedEntriesAreCompiledAgain) {
  TempDir cache;
  const Kernel kernel = Golden("vector_add");
  const auto first = Good(KernelCompiler(Options(cache.path())).Compile(std::span(&kernel, 1), Target())[0]);
  for (const auto& entry : fs::recursive_directory_iterator(cache.path())) {
    if (!entry.is_regular_file()) continue;
    std::string text = ReadFile(entry.path());
    text[text.size() / 2] ^= 1;
    WriteFileAtomic(entry.path(), text);
  }
  KernelCompiler compiler(Options(cache.path()));
  EXPECT_TRUE(Good(compiler.Compile(std::span(&kernel, 1), Target())[0])->cubin == first->cubin);
  EXPECT_EQ(compiler.counts().compiled, 1);
}

TEST(Compiler, FailuresSayWhatFailed) {
  const CompileFailure text = Bad(CompileOne({"k", "hello", "", "", {}}));
  EXPECT_EQ(text.reason, Reason::kInvalid);
  EXPECT_THAT(text.detail, HasSubstr("does not parse"));
  EXPECT_THAT(text.detail, HasSubstr("error: "));
  const CompileFailure lowering = Bad(CompileOne(Golden("map_elements")));
  EXPECT_EQ(lowering.reason, Reason::kLowering);
  EXPECT_THAT(lowering.detail, HasSubstr("pack size must be a divisor"));
  const std::string nonsense =
      "%0 = tt.elementwise_inline_asm \"frobnicate $0;\" {constraints = \"=r\", packed_element = 1 : i32, "
      "pure = false} -> i32";
  const CompileFailure ptxas = Bad(CompileOne({"k", Module("", nonsense), "", "", {}}));
  EXPECT_EQ(ptxas.reason, Reason::kPtxas);
  EXPECT_THAT(ptxas.detail, HasSubstr("frobnicate"));
  Target small = TargetForCapability(90);
  small.shared_bytes = 1024;
  const Kernel matmul = Golden("matmul_fp16_ieee");
  const CompileFailure memory = Bad(Shared().Compile(std::span(&matmul, 1), small)[0]);
  EXPECT_EQ(memory.reason, Reason::kSharedMemory);
  EXPECT_THAT(memory.detail, HasSubstr("bytes of shared memory"));
}

// MLIR prints the module that it could not lower, and of what a child prints the end is kept.
TEST(Compiler, ALargeModuleDoesNotHideWhyItFails) {
  Kernel large = Golden("map_elements");
  const size_t end = large.ttir.rfind("tt.store"), next = large.ttir.find('\n', end);
  const std::string store = large.ttir.substr(end, next + 1 - end);
  for (int i = 0; i < 1000; ++i) large.ttir.insert(next + 1, store);
  const CompileFailure failure = Bad(CompileOne(large));
  EXPECT_EQ(failure.reason, Reason::kLowering);
  EXPECT_THAT(failure.detail, HasSubstr("pack size must be a divisor"));
  EXPECT_LT(failure.detail.size(), 4096u);
}

TEST(Compiler, AKernelThatTakesTooLongIsATimeoutAndIsNotKept) {
  TempDir cache;
  CompilerOptions options = Options(cache.path());
  options.wall_seconds = 0.01;
  KernelCompiler compiler(options);
  const Kernel kernel = Golden("matmul_fp16_ieee");
  EXPECT_EQ(Bad(compiler.Compile(std::span(&kernel, 1), Target())[0]).reason, Reason::kTimeout);
  options.wall_seconds = 60;
  KernelCompiler patient(options);
  EXPECT_TRUE(IsElf(Good(patient.Compile(std::span(&kernel, 1), Target())[0])->cubin));
}

TEST(Compiler, NoCapabilityBelowEight) {
  EXPECT_THROW(TargetForCapability(75), UserError);
}

}  // namespace
}  // namespace tritogen::cuda
