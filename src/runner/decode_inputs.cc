#include "runner/decode_inputs.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/rounding.h"

namespace tritogen {
namespace {

constexpr int64_t kItemStep = 32;  // numbers of items are padded to: each has graphs of its own

// Sizes that decode batches are padded to.
int32_t PaddedRows(int32_t rows, int32_t most) {
  const int32_t step = rows <= 8 ? 1 : rows <= 64 ? 8 : rows <= 256 ? 32 : 64;
  const int32_t padded = rows <= 8 ? static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(rows)))
                                   : static_cast<int32_t>(RoundUp(rows, step));
  return std::min(padded, most);
}

bool HasCuts(const SamplingOptions& s) {
  return s.temperature > 0 && (s.top_k > 0 || s.top_p < 1 || s.min_p > 0);
}

}  // namespace

DecodeInputs::Offsets DecodeInputs::OffsetsOf(int64_t rows, int64_t items, int64_t width) {
  int64_t end = 0;
  const auto next = [&](int64_t words) { return std::exchange(end, end + words); };
  Offsets at;
  at.tokens = next(rows), at.slots = next(rows), at.positions = next(rows);
  at.whole = next(rows * kSampleWhole), at.numbers = next(rows * kSampleNumbers);
  at.shares = next(4 * rows), at.members = next(rows), at.items = next(4 * items);
  at.tables = next(rows * width);  // last, as most of it is seldom used and then stays here
  at.end = end;
  return at;
}

DecodeInputs::DecodeInputs(const RunnerLimits& limits, const SharingOptions& sharing, at::Device device)
    : limits_(limits),
      width_(CeilDiv(limits.context, kCacheBlock)),
      sharing_(sharing),
      at_(OffsetsOf(RoundUp<int64_t>(limits.decode_rows, Staging::kAlignWords),
                    RoundUp(sharing_.MostItems(limits.decode_rows), kItemStep), width_)),
      staging_(at_.end, device),
      slot_taken_(limits.slots + 1) {}

// Null: a row that pads the batch. Its token goes to a block and a slot that nobody uses.
void DecodeInputs::FillRow(const DecodeRow* row, int64_t index, const std::vector<SamplingOptions>& slots,
                           int32_t* words) {
  const int32_t slot = row != nullptr ? row->slot : limits_.slots;
  const SamplingOptions& s = slots[slot];
  words[at_.tokens + index] = row != nullptr ? row->token : 0;
  words[at_.slots + index] = slot;
  words[at_.positions + index] = row != nullptr ? row->position : 0;
  int32_t* whole = words + at_.whole + index * kSampleWhole;
  whole[0] = slot;
  whole[1] = row != nullptr ? row->draw : -1;
  whole[2] = static_cast<int32_t>(s.seed & 0xffffffff);
  whole[3] = static_cast<int32_t>(s.seed >> 32);
  whole[4] = s.top_k;
  const float numbers[kSampleNumbers] = {s.temperature, s.repetition_penalty, s.top_p, s.min_p};
  std::memcpy(words + at_.numbers + index * kSampleNumbers, numbers, sizeof numbers);
  int32_t* table = words + at_.tables + index * width_;
  if (row != nullptr) {
    std::copy(row->blocks.begin(), row->blocks.end(), table);
  } else {
    table[0] = limits_.blocks;
  }
}

// Returns the number of items, padded.
int32_t DecodeInputs::Share(const std::vector<DecodeRow>& rows, int32_t padded, int32_t* words) {
  const SharedBlocks* found = sharing_.Find(rows);
  if (found == nullptr) return 0;
  const int64_t count = static_cast<int64_t>(found->items.size()), items = RoundUp(count, kItemStep);
  const auto share_words = 4 * static_cast<int64_t>(rows.size());
  std::memcpy(words + at_.shares, found->shares.data(), 4 * share_words);
  std::fill(words + at_.shares + share_words, words + at_.shares + 4 * padded, 0);
  std::copy(found->members.begin(), found->members.end(), words + at_.members);
  std::memcpy(words + at_.items, found->items.data(), 16 * count);
  std::fill(words + at_.items + 4 * count, words + at_.items + 4 * items, 0);
  return static_cast<int32_t>(items);
}

DecodeInputs::Filled DecodeInputs::Fill(const std::vector<DecodeRow>& rows,
                                        const std::vector<SamplingOptions>& slots) {
  Filled filled;
  filled.shape.rows = PaddedRows(static_cast<int32_t>(rows.size()), limits_.decode_rows);
  staging_.Next();
  int32_t* words = staging_.Take(at_.tables + filled.shape.rows * width_);
  for (int32_t i = 0; i < filled.shape.rows; ++i) {
    const DecodeRow* row = i < static_cast<int32_t>(rows.size()) ? &rows[i] : nullptr;
    FillRow(row, i, slots, words);
    if (row == nullptr) continue;
    filled.fresh = filled.fresh && !std::exchange(slot_taken_[row->slot], 1);
    if (row->draw < 0) continue;
    const SamplingOptions& s = slots[row->slot];
    filled.shape.cuts = filled.shape.cuts || HasCuts(s);
    filled.tops = filled.tops || s.top_logprobs > 0;
    filled.sampling.emplace_back(i, s.top_logprobs);
  }
  for (const DecodeRow& row : rows) slot_taken_[row.slot] = 0;
  if (filled.fresh) filled.shape.items = Share(rows, filled.shape.rows, words);
  staging_.ToDevice();
  return filled;
}

DecodeRows DecodeInputs::Rows(const DecodeShape& shape, const at::Tensor& last) const {
  const int64_t n = shape.rows;
  DecodeRows rows = {.tokens = View(at_.tokens, {n}),
                     .slots = View(at_.slots, {n}),
                     .positions = View(at_.positions, {n}),
                     .tables = View(at_.tables, {n, width_}),
                     .last = last};
  if (shape.items == 0) return rows;
  rows.items = View(at_.items, {shape.items, 4});
  rows.members = View(at_.members, {n});
  rows.shares = View(at_.shares, {n, 4});
  return rows;
}

SampleRows DecodeInputs::Sampling(const DecodeShape& shape) const {
  return {.numbers = View(at_.numbers, {shape.rows, kSampleNumbers}, at::kFloat),
          .whole = View(at_.whole, {shape.rows, kSampleWhole})};
}

}  // namespace tritogen
