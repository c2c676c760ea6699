// The sample kernels on the GPU and on the tile machine, with the same arguments.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "cuda/compiler.h"
#include "cuda/device.h"
#include "cuda/launch.h"

namespace tritogen::cuda {

struct Gpu {
  const Driver& driver;
  const DeviceInfo& device;
  KernelCompiler& compiler;
  CUstream stream;
};

// Triton has no cubin for this kernel on this GPU.
class NotCompiled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws NotCompiled with the reason.
std::shared_ptr<const CompiledKernel> MustCompile(const Gpu& gpu, const std::string& ttir,
                                                  const KernelOptions& options = {});

// `cases`: what bench/cuda_cases.py wrote. How many kernels agree, and what is wrong with the others.
nlohmann::json CheckCases(const Gpu& gpu, const nlohmann::json& cases);

// Some of them again as clusters, cooperative, programmatic and register-limited launches.
nlohmann::json CheckLaunchKinds(const Gpu& gpu, const nlohmann::json& cases);

// One kernel with a parameter of every scalar kind.
nlohmann::json CheckScalars(const Gpu& gpu);

}  // namespace tritogen::cuda
