#include "verify/same_bits.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "verify/builtin_launch.h"

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

}  // namespace

at::Tensor CountDifferent(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor x = Flat(a), y = Flat(b);
  if (x.scalar_type() != y.scalar_type()) {
    x = x.view(at::kByte);
    y = y.view(at::kByte);
  }
  const at::Tensor count = at::zeros({1}, x.options().dtype(at::kInt));
  const int64_t n = x.numel();
  if (n == 0) return count;
  LaunchBuiltin(x.scalar_type() == at::kInt ? "count_different.i32" : "count_different.i8",
                std::min((n + kBlock - 1) / kBlock, kMostPrograms), {x, y, count, n});
  return count;
}

std::optional<size_t> FirstDifferent(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  TRITOGEN_CHECK(a.size() == b.size());
  std::vector<at::Tensor> counts;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].scalar_type() != b[i].scalar_type() || a[i].sizes() != b[i].sizes()) return i;
    if (!a[i].device().is_cpu()) {
      counts.push_back(CountDifferent(a[i], b[i]));
    } else if (!SameOnCpu(a[i], b[i])) {
      return i;
    }
  }
  if (counts.empty()) return std::nullopt;
  const at::Tensor host = at::cat(counts).cpu();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (host.const_data_ptr<int>()[i] != 0) return i;
  }
  return std::nullopt;
}

}  // namespace tritogen
