#include "device/gpu.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/shared_library.h"
#include "base/stages.h"
#include "kernels/builtin.h"

namespace tritogen {
namespace {

constexpr size_t kMostLoaded = 1024;  // kernels kept in the context; each takes a few KiB of the device

constexpr int64_t kIdleShare =
    24;  // of the device's memory, one in so many parts may lie idle with a process

c10::cuda::CUDACachingAllocator::CUDAAllocator* Allocator() {
  return static_cast<c10::cuda::CUDACachingAllocator::CUDAAllocator*>(c10::GetAllocator(at::kCUDA));
}

// Files by the device's name, which all users share.
std::string LocksOf(const Gpu& gpu) {
  return fmt::format("/tmp/tritogen-{}", gpu.info().uuid);
}

const cuda::Driver& LoadDriver() {
  std::string why;
  const cuda::Driver* driver = cuda::Driver::Load(&why);
  if (driver == nullptr) throw UserError(fmt::format("there is no usable GPU: {}", why));
  return *driver;
}

}  // namespace

std::unique_ptr<Gpu> Gpu::current_;

void Gpu::LoadLibraries() {
  const SharedLibrary library("libtorch_cuda.so", "libtorch's CUDA half");
}

Gpu& Gpu::Open(int ordinal, cuda::KernelCompiler* compiler, bool verifies) {
  TRITOGEN_CHECK(!current_);
  LoadLibraries();
  current_.reset(new Gpu(LoadDriver(), ordinal, compiler));
  if (!verifies) return *current_;
  // The first process on this machine compiles the verifier's kernels, all at once; the others find them.
  const UniqueFd lock = LockFile(LocksOf(*current_) + ".kernels");
  current_->Precompile(BuiltinKernels(KernelFamily::kVerifier));
  return *current_;
}

Gpu::Gpu(const cuda::Driver& driver, int ordinal, cuda::KernelCompiler* compiler)
    : driver_(&driver),
      info_(cuda::ReadDevice(driver, ordinal)),
      context_(driver, ordinal),
      compiler_(compiler),
      timer_(std::make_unique<cuda::Timer>(driver, info_)) {
  try {
    at::globalContext().lazyInitDevice(at::kCUDA);
    EnterThread();
  } catch (const c10::Error& error) {
    throw UserError(fmt::format("libtorch cannot use the GPU: {}", error.what_without_backtrace()));
  }
}

void Gpu::EnterThread() const {
  context_.MakeCurrent();
  const c10::impl::VirtualGuardImpl guard(at::kCUDA);
  guard.setDevice(device());
  // A stream that libtorch did not make is named by its own address.
  guard.exchangeStream(
      c10::Stream(c10::Stream::UNSAFE, device(), reinterpret_cast<c10::StreamId>(timer_->stream())));
}

std::vector<Gpu::Loaded> Gpu::Load(const std::vector<Kernel>& kernels) {
  std::vector<Loaded> loaded;
  if (loaded_.size() > kMostLoaded) loaded_.clear();
  for (cuda::CompileResult& result : compiler_->Compile(kernels, info_.target())) {
    if (auto* failure = std::get_if<cuda::CompileFailure>(&result)) {
      loaded.emplace_back(std::move(*failure));
      continue;
    }
    auto& compiled = std::get<std::shared_ptr<const cuda::CompiledKernel>>(result);
    auto& kernel = loaded_[compiled->key];
    try {
      if (!kernel) kernel = std::make_shared<const cuda::LoadedKernel>(*driver_, info_, compiled);
      loaded.emplace_back(kernel);
    } catch (const cuda::LaunchMismatch& error) {
      loaded.emplace_back(cuda::CompileFailure{cuda::CompileFailure::Reason::kSharedMemory, error.what()});
      loaded_.erase(compiled->key);
    }
  }
  return loaded;
}

const cuda::LoadedKernel& Gpu::Builtin(const std::string& name) {
  auto& kernel = builtin_[name];
  if (!kernel) {
    Loaded loaded = Load({BuiltinKernel(name)}).front();
    if (const auto* failure = std::get_if<cuda::CompileFailure>(&loaded)) {
      throw InternalError(fmt::format("kernel {} does not compile: {}", name, failure->detail));
    }
    kernel = std::get<std::shared_ptr<const cuda::LoadedKernel>>(loaded);
  }
  return *kernel;
}

void Gpu::Synchronize(double seconds) {
  if (cuda::SynchronizeWithin(*driver_, stream(), seconds)) return;
  GiveUp();
  throw cuda::Hang(fmt::format("the GPU did not finish within {:.3g} s", seconds));
}

bool Gpu::lost() const {
  return hangs_ || cuda::IsSticky(driver_->cuStreamQuery(stream()));
}

void Gpu::Probe() {
  const CUresult result = driver_->cuStreamQuery(stream());
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) throw cuda::Error(result, "the GPU");
}

namespace {

struct AllocatorBytes {
  int64_t reserved, allocated;
  int64_t idle() const { return reserved - allocated; }
};

AllocatorBytes BytesOfAllocator(at::Device device) {
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto stats = Allocator()->getDeviceStats(device.index());
  return {stats.reserved_bytes[kAll].current, stats.allocated_bytes[kAll].current};
}

int64_t ReservedBytes(at::Device device) {
  return BytesOfAllocator(device).reserved;
}

}  // namespace

int64_t Gpu::FreeBytes() const {
  size_t free = 0, all = 0;
  cuda::Check(driver_->cuMemGetInfo(&free, &all), "read how much memory is free");
  return static_cast<int64_t>(free) + BytesOfAllocator(device()).idle() - graphs_keep_;
}

bool Gpu::HoldsMuch() const {
  return ReservedBytes(device()) > info_.memory_bytes / kIdleShare;
}

bool Gpu::IsCrowded() const {
  constexpr int64_t kShareOfOthers = 8;  // of the device's memory; contexts take some, too
  size_t free = 0, all = 0;
  if (driver_->cuMemGetInfo(&free, &all) != CUDA_SUCCESS) return false;
  return static_cast<int64_t>(all - free) - ReservedBytes(device()) > info_.memory_bytes / kShareOfOthers;
}

void Gpu::AwaitMemory(double seconds) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (IsCrowded() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void Gpu::TrimMemory() {
  if (lost()) return;
  guards_.LetGo();
  if (!HoldsMuch() && !IsCrowded()) return;
  ReleasePools();
  Allocator()->emptyCache();
}

void Gpu::TidyMemory() {
  guards_.LetGo();
  ReleasePools();
  if (ReservedBytes(device()) > info_.memory_bytes / 4 * 3) Allocator()->emptyCache();
}

void Gpu::KeepLargePiecesWhole() {
  // Of one that is cut already the allocator would try to free a part.
  TRITOGEN_CHECK(ReservedBytes(device()) < kLargePiece);
  c10::CachingAllocator::setAllocatorSettings(fmt::format("max_split_size_mb:{}", kLargePiece >> 20));
}

// Later graphs get new ones.
void Gpu::ReleasePools() {
  for (const GraphPool& pool : idle_pools_) {
    for (int i = 0; i < pool.uses; ++i) Allocator()->releasePool(info_.ordinal, pool.id);
    Allocator()->emptyCache(pool.id);
    graphs_keep_ -= pool.bytes;
  }
  idle_pools_.clear();
}

GpuTurn::GpuTurn(Gpu* gpu) : gpu_(gpu), lock_(LocksOf(*gpu)) {
  const Stage stage("wait");
  lock_.Take();
}

GpuTurn::~GpuTurn() {
  gpu_->TrimMemory();
}

bool GpuTurn::SomebodyWaits() const noexcept {
  return lock_.SomebodyWaits();
}

GraphMemory::GraphMemory() {
  static std::atomic<uint64_t> next = 1;
  std::vector<GraphPool>& idle = Gpu::Current()->idle_pools_;
  if (idle.empty()) {
    pool_.id = {0, next++ | uint64_t{1} << 40};  // away from the numbers that libtorch gives its own graphs
  } else {
    pool_ = idle.back();
    idle.pop_back();
  }
}

void GraphMemory::Allocating(Gpu* gpu, const std::function<void()>& body) {
  const auto device = gpu->device().index();
  const auto ours = reinterpret_cast<cudaStream_t>(gpu->stream());
  const AllocatorBytes before = BytesOfAllocator(gpu->device());
  auto end = [&] {
    Allocator()->endAllocateToPool(device, pool_.id);
    const AllocatorBytes now = BytesOfAllocator(gpu->device());
    pool_.bytes += now.reserved - before.reserved;
    pool_.idle_bytes += now.idle() - before.idle();
    gpu->graphs_keep_ += now.idle() - before.idle();
  };
  ++pool_.uses;
  Allocator()->beginAllocateToPool(device, pool_.id, [ours](cudaStream_t s) { return s == ours; });
  try {
    body();
  } catch (...) {
    end();
    throw;
  }
  end();
}

GraphMemory::~GraphMemory() {
  Gpu* gpu = Gpu::Current();
  gpu->graphs_keep_ += pool_.bytes - pool_.idle_bytes;
  pool_.idle_bytes = pool_.bytes;
  gpu->idle_pools_.push_back(pool_);
}

}  // namespace tritogen
