#include "cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>

namespace tritogen::cuda {
namespace {

#define TRITOGEN_SYMBOL(name) #name

struct Loaded {
  std::unique_ptr<Driver> driver;
  std::string why_not;
};

const Driver* g_loaded = nullptr;  // for names in messages; set once, before Load returns

}  // namespace

const Driver* Driver::Load(std::string* why_not) {
  static const Loaded loaded = [] {
    Loaded result{std::unique_ptr<Driver>(new Driver), {}};
    if (!result.driver->Open(&result.why_not)) result.driver.reset();
    g_loaded = result.driver.get();
    return result;
  }();
  if (why_not != nullptr) *why_not = loaded.why_not;
  return loaded.driver.get();
}

bool Driver::Open(std::string* why_not) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed
  if (library == nullptr) {
    *why_not = "there is no NVIDIA driver here (libcuda.so.1 cannot be loaded)";
    return false;
  }
  std::string missing;
#define X(function)                                                                           \
  function = reinterpret_cast<decltype(function)>(dlsym(library, TRITOGEN_SYMBOL(function))); \
  if (function == nullptr && missing.empty()) missing = TRITOGEN_SYMBOL(function);
  TRITOGEN_CUDA_FUNCTIONS(X)
#undef X
  if (!missing.empty()) {
    *why_not = fmt::format("the NVIDIA driver is too old: it lacks {}", missing);
    return false;
  }
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) {
    const char* name = nullptr;
    cuGetErrorName(result, &name);
    *why_not = fmt::format("the NVIDIA driver does not start: {}", name ? name : "unknown error");
    return false;
  }
  int devices = 0;
  if (cuDeviceGetCount(&devices) != CUDA_SUCCESS || devices == 0) {
    *why_not = "the NVIDIA driver is there but shows no device";
    return false;
  }
  return true;
}

std::string ResultName(CUresult result) {
  const char* name = nullptr;
  if (g_loaded != nullptr && g_loaded->cuGetErrorName(result, &name) == CUDA_SUCCESS && name) return name;
  return fmt::format("CUDA error {}", static_cast<int>(result));
}

bool IsSticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

namespace {

std::string Describe(CUresult result, std::string_view what) {
  const char* text = nullptr;
  if (g_loaded != nullptr) g_loaded->cuGetErrorString(result, &text);
  return fmt::format("{}: {}{}", what, ResultName(result), text ? fmt::format(" ({})", text) : "");
}

}  // namespace

Error::Error(CUresult result, std::string_view what)
    : std::runtime_error(Describe(result, what)), result_(result) {}

bool Error::sticky() const {
  return IsSticky(result_);
}

}  // namespace tritogen::cuda
