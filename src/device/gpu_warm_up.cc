#include "device/gpu_warm_up.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "kernels/table.h"

namespace tritogen {
namespace {

// Of the device's memory, below what TrimMemory lets lie idle; and of what of it is free.
constexpr int64_t kReservedShare = 32, kReservedOfFree = 8;
constexpr double kSecondsAtMost = 30;

using Unary = at::Tensor (*)(const at::Tensor&);

constexpr Unary kPointwise[] = {at::relu, at::sigmoid, at::tanh,     at::exp,       at::log,  at::abs,
                                at::neg,  at::sqrt,    at::rsqrt,    at::erf,       at::silu, at::square,
                                at::sin,  at::cos,     at::isfinite, at::reciprocal};

void RunPointwise(const at::Tensor& x, const at::Tensor& y) {
  for (const Unary operation : kPointwise) operation(x);
  at::gelu(x);
  at::gelu(x, "tanh");
  at::leaky_relu(x, 0.1);
  at::elu(x);
  at::softplus(x);
  at::clamp(x, -0.5, 0.5);
  at::clamp_min(x, 0);
  at::where(x > 0.2, x, y);
  at::where(x.ge(y), x * 0.1, y + 0.5);
  at::pow(x, 2);
  at::pow(x, y);
  at::maximum(x, y);
  at::minimum(x, y);
  (x - y) / (y + 2);
  x.lt(y).logical_or(x.ne(y)).sum();
}

void RunReductions(const at::Tensor& x) {
  for (const int64_t dim : {0, 1}) {
    x.sum(dim);
    x.mean(dim);
    x.amax(dim);
    x.amin(dim);
    x.argmax(dim);
    x.max(dim);
    x.var(dim, /*correction=*/1);
    at::logsumexp(x, dim);
    at::softmax(x, dim);
    at::log_softmax(x, dim);
  }
  x.sum();
  x.mean();
  x.max();
  x.gt(0).any();
}

// cuBLAS has kernels of its own for many shapes.
void RunProducts(const at::TensorOptions& options) {
  struct Shape {
    int64_t m, n, k;
  };
  for (const Shape& s :
       {Shape{512, 512, 512}, {2048, 2048, 96}, {1000, 3008, 256}, {4096, 1024, 64}, {97, 1000, 320}}) {
    const at::Tensor a = at::rand({s.m, s.k}, options), b = at::rand({s.k, s.n}, options),
                     c = at::rand({s.n, s.k}, options), bias = at::rand({s.n}, options);
    at::mm(a, b);
    at::addmm(bias, a, b);
    at::linear(a, c, bias);
  }
  at::bmm(at::rand({4, 256, 64}, options), at::rand({4, 64, 256}, options));
}

void RunAll(Gpu* gpu, at::ScalarType type) {
  const at::TensorOptions options = at::TensorOptions().device(gpu->device()).dtype(type);
  const at::Tensor x = at::randn({300, 4099}, options), y = at::rand({300, 4099}, options);
  const std::function<void()> parts[] = {
      [&] { RunPointwise(x, y); },
      [&] { RunReductions(x); },
      [&] { RunProducts(options); },
      [&] {
        at::cat({x, y});
        x.t().contiguous();
        x.to(at::kDouble).to(at::kFloat);
        at::zeros_like(x).fill_(1);
        x.clone().copy_(y);
        at::layer_norm(x, {4099});
      },
  };
  for (const auto& part : parts) {
    part();
    gpu->Synchronize(kSecondsAtMost);
  }
}

void LoadLibraries(Gpu* gpu) {
  const bool tf32 = at::globalContext().allowTF32CuBLAS();
  for (const bool allowed : {false, true}) {
    at::globalContext().setAllowTF32CuBLAS(allowed);
    if (allowed) {
      RunProducts(at::TensorOptions().device(gpu->device()).dtype(at::kFloat));
    } else {
      RunAll(gpu, at::kFloat);
      RunAll(gpu, at::kDouble);
    }
  }
  at::globalContext().setAllowTF32CuBLAS(tf32);
}

// Those of the verifier for the two types that every task meets.
void LoadOurs(Gpu* gpu) {
  for (const KernelRow& row : KernelTable()) {
    const std::string_view name = row.name;
    const bool rare = name.find("f16") != std::string_view::npos;  // and bf16
    if (row.family == KernelFamily::kVerifier && !rare) gpu->Builtin(row.name);
  }
}

// In pieces that may be cut up.
void Reserve(Gpu* gpu) {
  constexpr int64_t kPiece = Gpu::kLargePiece / 2;
  const auto bytes = at::TensorOptions().device(gpu->device()).dtype(at::kByte);
  size_t free = 0, all = 0;
  cuda::Check(gpu->driver().cuMemGetInfo(&free, &all), "read how much memory is free");
  const int64_t wanted =
      std::min(gpu->info().memory_bytes / kReservedShare, static_cast<int64_t>(free) / kReservedOfFree);
  std::vector<at::Tensor> pieces;
  for (int64_t left = wanted; left > 0; left -= kPiece) pieces.push_back(at::empty({kPiece}, bytes));
}

}  // namespace

void WarmUp(Gpu* gpu) try {
  Reserve(gpu);
  LoadOurs(gpu);
  LoadLibraries(gpu);
  gpu->Synchronize(kSecondsAtMost);
} catch (const c10::Error&) {
  // Others have the memory now: who needs it later says what is wrong.
} catch (const cuda::Error& error) {
  if (!error.out_of_memory()) throw;
}

}  // namespace tritogen
