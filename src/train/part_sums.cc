#include "train/part_sums.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/rounding.h"
#include "device/builtin_launch.h"

namespace tritogen::train {
namespace {

constexpr int64_t kColumns = 32;                     // of a program of add_parts: kernels/emit.py
constexpr int64_t kRowTile = 32, kColumnTile = 128;  // and of sum_rows
constexpr int64_t kPrograms = 660;                   // of sum_rows: what an H200 runs at once

}  // namespace

int64_t SumRowsParts(int64_t tokens, int64_t elements) {
  const int64_t columns = CeilDiv(elements, kColumnTile);
  return std::clamp<int64_t>(kPrograms / columns, 1, CeilDiv(tokens, kRowTile));
}

PartSums::PartSums(const FlatWeights& gradients, std::vector<at::Tensor> vectors, int64_t rows)
    : flat_(gradients.flat) {
  std::erase_if(vectors, [](const at::Tensor& vector) { return !vector.defined(); });
  if (vectors.empty()) return;
  const int64_t elements = vectors.front().numel();
  std::vector<int64_t> places;
  for (const at::Tensor& vector : vectors) {
    TRITOGEN_CHECK(vector.numel() == elements && vector.is_alias_of(flat_));
    places.push_back(vector.storage_offset() - flat_.storage_offset());
  }
  const auto count = static_cast<int64_t>(vectors.size());
  parts_ = at::empty({count, rows, elements}, flat_.options());
  places_ = at::tensor(places, at::kLong).to(flat_.device());
}

void PartSums::SumRows(const at::Tensor& x, size_t vector) const {
  LaunchBuiltin(fmt::format("sum_rows.{}", BuiltinDtype(x.scalar_type())),
                {rows(), CeilDiv(x.size(1), kColumnTile)}, {x, parts(vector), x.size(0), x.size(1)});
}

void PartSums::Finish(bool add) const {
  if (!parts_.defined()) return;
  const int64_t elements = parts_.size(2);
  LaunchBuiltin(add ? "add_parts.1" : "add_parts.0", {CeilDiv(elements, kColumns), parts_.size(0)},
                {parts_, places_, flat_, rows(), elements});
}

}  // namespace tritogen::train
