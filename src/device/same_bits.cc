#include "device/same_bits.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "base/rounding.h"
#include "device/builtin_launch.h"

namespace tritogen {
namespace {

constexpr int64_t kBlock = 1024;  // elements at a time, as kernels/emit.py has it
constexpr int64_t kMostPrograms = 2048;

// As one dimension of bytes, or of words where they fit; a copy where the layout is not dense.
at::Tensor Flat(const at::Tensor& tensor) {
  const at::Tensor bytes = tensor.contiguous().flatten().view(at::kByte);
  return bytes.numel() % 4 == 0 && bytes.storage_offset() % 4 == 0 ? bytes.view(at::kInt) : bytes;
}

bool SameOnCpu(const at::Tensor& a, const at::Tensor& b) {
  return a.contiguous().flatten().view(at::kByte).equal(b.contiguous().flatten().view(at::kByte));
}

// Adds to `count`, an int32.
void CountInto(const at::Tensor& a, const at::Tensor& b, const at::Tensor& count) {
  at::Tensor x = Flat(a), y = Flat(b);
  if (x.scalar_type() != y.scalar_type()) {
    x = x.view(at::kByte);
    y = y.view(at::kByte);
  }
  const int64_t n = x.numel();
  if (n == 0) return;
  LaunchBuiltin(x.scalar_type() == at::kInt ? "count_different.i32" : "count_different.i8",
                std::min(CeilDiv(n, kBlock), kMostPrograms), {x, y, count, n});
}

}  // namespace

at::Tensor CountDifferent(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor count = at::zeros({1}, a.options().dtype(at::kInt));
  CountInto(a, b, count);
  return count;
}

std::optional<size_t> FirstDifferent(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  TRITOGEN_CHECK(a.size() == b.size());
  at::Tensor counts;  // one for each, where any are on a GPU
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].scalar_type() != b[i].scalar_type() || a[i].sizes() != b[i].sizes()) return i;
    if (a[i].device().is_cpu()) {
      if (!SameOnCpu(a[i], b[i])) return i;
      continue;
    }
    if (!counts.defined())
      counts = at::zeros({static_cast<int64_t>(a.size())}, a[i].options().dtype(at::kInt));
    CountInto(a[i], b[i], counts.narrow(0, static_cast<int64_t>(i), 1));
  }
  if (!counts.defined()) return std::nullopt;
  const at::Tensor host = counts.cpu();
  for (size_t i = 0; i < a.size(); ++i) {
    if (host.const_data_ptr<int>()[i] != 0) return i;
  }
  return std::nullopt;
}

}  // namespace tritogen
