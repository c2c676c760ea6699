#include "cuda/l2_flush.h"

namespace tritogen::cuda {
namespace {

// Forgets `count` × 128 bytes: what of them lies in the L2 is dropped there, written or not. The driver
// translates it.
constexpr char kDiscardKernel[] = R"ptx(
.version 7.4
.target sm_80
.address_size 64
.visible .entry discard_all(.param .u64 data, .param .u64 count)
{
  .reg .pred %outside;
  .reg .b32 %block, %threads, %thread, %blocks;
  .reg .b64 %address, %end, %index, %stride, %base;
  ld.param.u64 %address, [data];
  ld.param.u64 %end, [count];
  cvta.to.global.u64 %base, %address;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  cvt.u64.u32 %index, %thread;
  mad.wide.u32 %index, %block, %threads, %index;
  mul.wide.u32 %stride, %blocks, %threads;
again:
  setp.ge.u64 %outside, %index, %end;
  @%outside bra done;
  shl.b64 %address, %index, 7;
  add.s64 %address, %base, %address;
  discard.global.L2 [%address], 128;
  add.s64 %index, %index, %stride;
  bra again;
done:
  ret;
}
)ptx";
constexpr int kThreads = 512, kBlocksPerSm = 4;
constexpr size_t kLine = 128;  // bytes
constexpr double kSize = 1.5;  // of the L2; after 1 up to 3% of a small program's lines seemed to be left

}  // namespace

L2Flush::L2Flush(const Driver& driver, const DeviceInfo& device)
    : driver_(driver),
      device_(device),
      buffer_(driver, static_cast<size_t>(kSize * static_cast<double>(device.l2_bytes)) / kLine * kLine) {
  Check(driver.cuModuleLoadDataEx(&module_, kDiscardKernel, 0, nullptr, nullptr), "load the L2 flush");
  Check(driver.cuModuleGetFunction(&discard_, module_, "discard_all"), "find the L2 flush");
  if (device.max_persisting_l2_bytes > 0) {
    const CUresult result = driver.cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
    // Where the limit is not ours to set (a MIG slice), it is zero.
    if (result != CUDA_ERROR_UNSUPPORTED_LIMIT) Check(result, "forbid persisting L2 lines");
  }
}

L2Flush::~L2Flush() {
  driver_.cuModuleUnload(module_);
}

void L2Flush::ResetPersisting() const {
  if (device_.max_persisting_l2_bytes > 0) {
    Check(driver_.cuCtxResetPersistingL2Cache(), "reset persisting L2 lines");
  }
}

void L2Flush::Write(CUstream stream) const {
  Check(driver_.cuMemsetD8Async(buffer_.address(), 0, buffer_.bytes(), stream), "write the L2 flush");
}

void L2Flush::Discard(CUstream stream) const {
  CUdeviceptr data = buffer_.address();
  uint64_t count = buffer_.bytes() / kLine;
  void* arguments[] = {&data, &count};
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(kBlocksPerSm * device_.sm_count);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = kThreads;
  config.hStream = stream;
  Check(driver_.cuLaunchKernelEx(&config, discard_, arguments, nullptr), "discard the L2 flush");
}

}  // namespace tritogen::cuda
