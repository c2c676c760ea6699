// The CUDA driver API, loaded at run time: the program starts, and says why it has no GPU, where there is no
// driver. <cuda.h> (of the torch wheel) gives types only; nothing is linked. A function is called through the
// table under the name that the manual gives it:
//   std::string why;
//   if (const Driver* driver = Driver::Load(&why)) Check(driver->cuCtxSynchronize(), "synchronize");
#pragma once

#include <cuda.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace tritogen::cuda {

// Every function that Tritogen calls. <cuda.h> renames some of them to the version that its types belong to
// (cuMemAlloc is cuMemAlloc_v2); X gets the new name, and that is the symbol that is looked up.
#define TRITOGEN_CUDA_FUNCTIONS(X)                                                                        \
  X(cuInit)                                                                                               \
  X(cuDriverGetVersion)                                                                                   \
  X(cuGetErrorName)                                                                                       \
  X(cuGetErrorString)                                                                                     \
  X(cuDeviceGet)                                                                                          \
  X(cuDeviceGetCount)                                                                                     \
  X(cuDeviceGetName)                                                                                      \
  X(cuDeviceGetAttribute) X(cuDeviceGetUuid) X(cuDeviceTotalMem) X(cuDeviceGetPCIBusId)                   \
      X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent) X(cuCtxSynchronize)     \
          X(cuCtxSetLimit) X(cuCtxResetPersistingL2Cache) X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo)      \
              X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemsetD8Async) X(cuMemsetD32Async)            \
                  X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuFuncGetAttribute)    \
                      X(cuFuncSetAttribute) X(cuFuncGetParamInfo) X(cuLaunchKernelEx)                     \
                          X(cuTensorMapEncodeTiled) X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamQuery) \
                              X(cuStreamSynchronize) X(cuStreamBeginCapture) X(cuStreamEndCapture)        \
                                  X(cuGraphInstantiate) X(cuGraphGetNodes) X(cuGraphNodeGetType)          \
                                      X(cuGraphKernelNodeGetParams) X(cuGraphLaunch) X(cuGraphDestroy)    \
                                          X(cuGraphExecDestroy) X(cuEventCreate) X(cuEventDestroy)        \
                                              X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize)      \
                                                  X(cuEventElapsedTime)

class Driver {
 public:
  // The table, loaded and initialised once per process; null, with the reason, where there is no driver, no
  // device, or a driver older than these functions. Thread-safe. A process that forks after Load must not use
  // CUDA in the child.
  static const Driver* Load(std::string* why_not);

#define X(function) decltype(&::function) function = nullptr;
  TRITOGEN_CUDA_FUNCTIONS(X)
#undef X

 private:
  Driver() = default;
  bool Open(std::string* why_not);
};

// A call that the driver refused. `sticky`: the context is dead, and with it every later call of this process
// (illegal address, failed launch, device assert, hardware error); only a new process has a GPU again.
class Error : public std::runtime_error {
 public:
  Error(CUresult result, std::string_view what);  // "what: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal …)"

  CUresult result() const { return result_; }
  bool sticky() const;
  bool out_of_memory() const { return result_ == CUDA_ERROR_OUT_OF_MEMORY; }

 private:
  CUresult result_;
};

bool IsSticky(CUresult result);
std::string ResultName(CUresult result);  // "CUDA_ERROR_ILLEGAL_ADDRESS"; works without a driver, too

inline void Check(CUresult result, std::string_view what) {
  if (result != CUDA_SUCCESS) throw Error(result, what);
}

}  // namespace tritogen::cuda
