#include "verify/replay_memory.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device/aten_dtype.h"
#include "device/random.h"
#include "device/raw_memory.h"

namespace tritogen {
namespace {

// Marks the bytes of a strided tensor, innermost dimensions last.
void Mark(uint8_t* map, const at::Tensor& tensor, int64_t dim, int64_t element) {
  int64_t bytes = tensor.element_size();
  if (dim == tensor.dim()) {
    std::memset(map + element * bytes, 1, bytes);
    return;
  }
  for (int64_t i = 0; i < tensor.size(dim); ++i) Mark(map, tensor, dim + 1, element + i * tensor.stride(dim));
}

// True when an undefined element was found; `place` then says where.
bool FindUndefined(const uint8_t* map, const at::Tensor& tensor, int64_t element,
                   std::vector<int64_t>& place) {
  const int64_t dim = static_cast<int64_t>(place.size());
  if (dim == tensor.dim()) {
    const uint8_t* bytes = map + element * tensor.element_size();
    return std::find(bytes, bytes + tensor.element_size(), 0) != bytes + tensor.element_size();
  }
  place.push_back(0);
  for (int64_t i = 0; i < tensor.size(dim); ++i) {
    place.back() = i;
    if (FindUndefined(map, tensor, element + i * tensor.stride(dim), place)) return true;
  }
  place.pop_back();
  return false;
}

}  // namespace

UndefinedMemory::Entry* UndefinedMemory::Find(const at::Tensor& tensor) {
  const auto* storage = tensor.storage().unsafeGetStorageImpl();
  for (Entry& entry : entries_) {
    if (entry.storage.unsafeGetStorageImpl() == storage) return &entry;
  }
  return nullptr;
}

void UndefinedMemory::Fill(const at::Tensor& fresh) {
  if (leftovers_) return FillWithLeftovers(fresh);
  if (at::isFloatingType(fresh.scalar_type())) {
    fresh.fill_(poison_nan_ ? std::nan("") : LargestOf(fresh.scalar_type()));
  } else if (at::isComplexType(fresh.scalar_type())) {
    at::view_as_real(fresh).fill_(poison_nan_ ? std::nan("")
                                              : LargestOf(c10::toRealValueType(fresh.scalar_type())));
  } else if (fresh.scalar_type() == at::kBool) {
    fresh.fill_(true);
  } else {
    // 0x7f…7f: a large index of either sign convention, and no valid one anywhere.
    BytesOf(fresh.storage()).fill_(0x7f);
  }
}

// Fresh memory of a GPU is zero, memory that was used before holds what it was used for.
void UndefinedMemory::FillWithLeftovers(const at::Tensor& fresh) {
  const uint64_t draw = SubSeed(seed_, ++births_);
  const double number = draw % 2 == 0 ? 0 : std::ldexp(static_cast<double>(draw >> 11), -53) - 0.5;
  if (at::isFloatingType(fresh.scalar_type()) || at::isComplexType(fresh.scalar_type())) {
    fresh.fill_(number);
  } else if (fresh.scalar_type() == at::kBool) {
    fresh.fill_(number > 0);
  } else {
    fresh.fill_(static_cast<int64_t>(std::abs(number) * 100));
  }
}

void UndefinedMemory::Born(const at::Tensor& fresh) {
  if (fresh.numel() == 0) return;
  Fill(fresh);
  if (!fresh.device().is_cpu()) return;  // poison is all there is on a GPU
  if (Entry* known = Find(fresh)) {
    known->defined.clear();
  } else {
    entries_.push_back({fresh.storage(), {}});
  }
}

void UndefinedMemory::Written(const at::Tensor& tensor) {
  if (entries_.empty() || tensor.numel() == 0) return;
  Entry* entry = Find(tensor);
  if (!entry) return;
  size_t bytes = tensor.numel() * tensor.element_size();
  if (tensor.is_non_overlapping_and_dense()) {
    if (bytes == entry->storage.nbytes()) {
      std::swap(*entry, entries_.back());
      entries_.pop_back();
      return;
    }
    std::memset(MapOf(tensor) + tensor.storage_offset() * tensor.element_size(), 1, bytes);
    return;
  }
  Mark(MapOf(tensor), tensor, 0, tensor.storage_offset());
}

uint8_t* UndefinedMemory::MapOf(const at::Tensor& tensor) {
  Entry* entry = entries_.empty() ? nullptr : Find(tensor);
  if (!entry) return nullptr;
  if (entry->defined.empty()) entry->defined.assign(entry->storage.nbytes(), 0);
  return entry->defined.data();
}

std::optional<std::vector<int64_t>> UndefinedMemory::FirstUndefined(const at::Tensor& tensor) {
  const uint8_t* map = MapOf(tensor);
  if (!map || tensor.numel() == 0) return std::nullopt;
  if (tensor.is_contiguous()) {  // the common case needs no walk
    const uint8_t* begin = map + tensor.storage_offset() * tensor.element_size();
    if (!std::memchr(begin, 0, tensor.numel() * tensor.element_size())) return std::nullopt;
  }
  std::vector<int64_t> place;
  return FindUndefined(map, tensor, tensor.storage_offset(), place) ? std::optional(place) : std::nullopt;
}

void UndefinedMemory::Sweep() {
  std::erase_if(entries_, [](const Entry& entry) { return entry.storage.use_count() == 1; });
}

}  // namespace tritogen
