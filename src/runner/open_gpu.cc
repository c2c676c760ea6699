#include "runner/open_gpu.h"

#include <utility>

#include "device/gpu.h"

namespace tritogen {

void OpenGpu(cuda::CompilerOptions options, int ordinal) {
  static auto* const compiler = new cuda::KernelCompiler(std::move(options));  // the Gpu uses it to its end
  Gpu::Open(ordinal, compiler, /*verifies=*/false);
}

}  // namespace tritogen
