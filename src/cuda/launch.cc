#include "cuda/launch.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/error.h"

namespace tritogen::cuda {
namespace {

// What a kernel may have without asking for more.
constexpr int64_t kDefaultSharedBytes = 48 << 10;
constexpr int kPortableClusterSize = 8;

int FunctionAttribute(const Driver& driver, CUfunction_attribute attribute, CUfunction function) {
  int value = 0;
  Check(driver.cuFuncGetAttribute(&value, attribute, function), "read a kernel's attribute");
  return value;
}

std::array<std::byte, kTensorMapBytes> Encode(const Driver& driver, const TensorMapRequest& request) {
  static_assert(sizeof(CUtensorMap) == kTensorMapBytes);
  CUtensorMap map;  // aligned as its type asks
  const std::vector<cuuint32_t> element_strides(request.shape.size(), 1);
  std::vector<cuuint64_t> strides(request.strides.begin(), request.strides.end());
  strides.push_back(0);  // one that nobody reads, so that rank 1 has something to point at
  const std::vector<cuuint64_t> shape(request.shape.begin(), request.shape.end());
  Check(driver.cuTensorMapEncodeTiled(
            &map, static_cast<CUtensorMapDataType>(request.data_type),
            static_cast<cuuint32_t>(request.shape.size()), reinterpret_cast<void*>(request.address),
            shape.data(), strides.data(), request.box.data(), element_strides.data(),
            CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(request.swizzle),
            CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            request.nan_fill ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                             : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "describe a tensor to the copy engine");
  std::array<std::byte, kTensorMapBytes> bytes;
  std::memcpy(bytes.data(), &map, sizeof map);
  return bytes;
}

uint64_t AllocateFor(const Scratch& scratch, const CompiledKernel& kernel, const LaunchVariant& variant,
                     const AllocateScratch& allocate) {
  if (scratch.bytes_per_program == 0) return 0;
  int64_t bytes = scratch.bytes_per_program;
  for (int64_t factor : {variant.grid[0], variant.grid[1], variant.grid[2], int64_t{kernel.num_ctas}}) {
    if (__builtin_mul_overflow(bytes, factor, &bytes)) {
      throw LaunchMismatch(fmt::format("{} needs more scratch memory than can be counted", kernel.name));
    }
  }
  return allocate(bytes, scratch.alignment);
}

}  // namespace

LoadedKernel::LoadedKernel(const Driver& driver, const DeviceInfo& device,
                           std::shared_ptr<const CompiledKernel> kernel)
    : driver_(driver), device_(device), kernel_(std::move(kernel)) {
  const int64_t threads = int64_t{kernel_->num_warps} * device_.warp_size;
  if (threads > device_.max_threads_per_block || kernel_->shared_bytes > device_.shared_per_block_optin) {
    throw LaunchMismatch(
        fmt::format("{} needs {} threads and {} bytes of shared memory in a block; {} has {} and {}",
                    kernel_->name, threads, kernel_->shared_bytes, device_.name,
                    device_.max_threads_per_block, device_.shared_per_block_optin));
  }
  Check(driver.cuModuleLoadDataEx(&module_, kernel_->cubin.data(), 0, nullptr, nullptr),
        fmt::format("load the kernel {}", kernel_->name));
  try {
    Prepare();
  } catch (...) {
    driver.cuModuleUnload(module_);
    throw;
  }
}

LoadedKernel::~LoadedKernel() {
  driver_.cuModuleUnload(module_);
}

void LoadedKernel::Prepare() {
  Check(driver_.cuModuleGetFunction(&function_, module_, kernel_->name.c_str()),
        fmt::format("find the kernel {} in its module", kernel_->name));
  registers_ = FunctionAttribute(driver_, CU_FUNC_ATTRIBUTE_NUM_REGS, function_);
  if (kernel_->shared_bytes > kDefaultSharedBytes) {
    Check(driver_.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     static_cast<int>(kernel_->shared_bytes)),
          fmt::format("give {} its shared memory", kernel_->name));
  }
  if (kernel_->num_ctas > kPortableClusterSize) {
    Check(driver_.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
          fmt::format("give {} its cluster size", kernel_->name));
  }
  for (size_t i = 0; i <= kernel_->slots.size(); ++i) {
    size_t offset = 0, size = 0;
    const CUresult result = driver_.cuFuncGetParamInfo(function_, i, &offset, &size);
    const bool is_there = result == CUDA_SUCCESS;
    if (!is_there && result != CUDA_ERROR_INVALID_VALUE) Check(result, "read a kernel's parameters");
    const bool expected = i < kernel_->slots.size();
    if (is_there != expected || (expected && static_cast<int>(size) != kernel_->slots[i].bytes)) {
      throw LaunchMismatch(fmt::format("parameter {} of {} is not what its PTX said", i, kernel_->name));
    }
  }
}

LaunchShape::LaunchShape(const CompiledKernel& kernel, const std::array<int64_t, 3>& grid,
                         const DeviceInfo& device) {
  const int64_t blocks[3] = {grid[0] * kernel.num_ctas, grid[1], grid[2]};
  for (int axis = 0; axis < 3; ++axis) {
    if (blocks[axis] < 0 || blocks[axis] > device.max_grid[axis]) {
      throw LaunchMismatch(
          fmt::format("a grid of {} x {} x {} programs is too large: axis {} may have {} blocks", grid[0],
                      grid[1], grid[2], axis, device.max_grid[axis]));
    }
    empty = empty || blocks[axis] == 0;
  }
  config.gridDimX = static_cast<unsigned>(blocks[0]);
  config.gridDimY = static_cast<unsigned>(blocks[1]);
  config.gridDimZ = static_cast<unsigned>(blocks[2]);
  config.blockDimX = static_cast<unsigned>(kernel.num_warps * device.warp_size);
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(kernel.shared_bytes);
  config.attrs = attributes;
  if (kernel.launch_pdl) {
    CUlaunchAttribute& attribute = Add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  if (kernel.launch_cooperative_grid) {
    if (!device.cooperative_launch) throw LaunchMismatch(device.name + " has no cooperative launches");
    Add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).value.cooperative = 1;
  }
  if (kernel.num_ctas > 1) {
    auto& size = Add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).value.clusterDim;
    size.x = static_cast<unsigned>(kernel.num_ctas);
    size.y = size.z = 1;
    Add(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE).value.clusterSchedulingPolicyPreference =
        CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
  }
}

CUlaunchAttribute& LaunchShape::Add(CUlaunchAttributeID id) {
  CUlaunchAttribute& attribute = attributes[config.numAttrs++];
  attribute.id = id;
  return attribute;
}

void LaunchKernel(const LoadedKernel& kernel, const LaunchVariant& variant, const AddressOf& address_of,
                  CUstream stream, const AllocateScratch& allocate_scratch) {
  const CompiledKernel& compiled = kernel.compiled();
  LaunchShape shape(compiled, variant.grid, kernel.device());
  if (shape.empty) return;
  const std::array<uint64_t, 2> scratch = {
      AllocateFor(compiled.global_scratch, compiled, variant, allocate_scratch),
      AllocateFor(compiled.profile_scratch, compiled, variant, allocate_scratch)};
  auto encode = [&](const TensorMapRequest& request) { return Encode(kernel.driver(), request); };
  PackedArguments arguments(compiled, variant.args, address_of, encode, scratch);
  shape.config.hStream = stream;
  Check(kernel.driver().cuLaunchKernelEx(&shape.config, kernel.function(), arguments.pointers().data(),
                                         nullptr),
        fmt::format("launch {}", compiled.name));
}

}  // namespace tritogen::cuda
