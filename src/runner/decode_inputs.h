// What the rows of a decode step are, as arrays that go to the device in one copy: tokens, places, parameters
// of sampling, tables of blocks, and which blocks rows share.
#pragma once

#include <compare>
#include <optional>
#include <utility>
#include <vector>

#include "runner/decoder_pass.h"
#include "runner/device_sampler.h"
#include "runner/prefix_sharing.h"
#include "runner/staging.h"

namespace tritogen {

// All that the launches of a step depend on: a graph each.
struct DecodeShape {
  int32_t rows = 0;   // padded
  int32_t items = 0;  // of shared blocks, padded; 0: nothing is shared
  bool cuts = false;  // some row samples with top-k, top-p or min-p
  auto operator<=>(const DecodeShape&) const = default;
};

class DecodeInputs {
 public:
  DecodeInputs(const RunnerLimits& limits, const SharingOptions& sharing, at::Device device);

  struct Filled {
    DecodeShape shape;
    bool fresh = true;                                  // no two rows are of one sequence
    bool tops = false;                                  // somebody asks for the most probable tokens
    std::vector<std::pair<int32_t, int32_t>> sampling;  // rows that sample; how many such tokens
  };
  // On their way when this returns. `slots`: sampling options of each slot, and of one that nobody has.
  Filled Fill(const std::vector<DecodeRow>& rows, const std::vector<SamplingOptions>& slots);

  // Views of what Fill puts there. `last`: DeviceSampler's.
  DecodeRows Rows(const DecodeShape& shape, const at::Tensor& last) const;
  SampleRows Sampling(const DecodeShape& shape) const;

 private:
  struct Offsets {  // of each array, in words
    int64_t tokens, slots, positions, whole, numbers, shares, members, items, tables, end;
  };
  static Offsets OffsetsOf(int64_t rows, int64_t items, int64_t width);
  void FillRow(const DecodeRow* row, int64_t index, const std::vector<SamplingOptions>& slots,
               int32_t* words);
  int32_t Share(const std::vector<DecodeRow>& rows, int32_t padded, int32_t* words);
  at::Tensor View(int64_t at, at::IntArrayRef shape, at::ScalarType type = at::kInt) const {
    return Staging::View(staging_.device(), at, shape, type);
  }

  const RunnerLimits limits_;
  const int64_t width_;  // blocks of a sequence, at most
  PrefixSharing sharing_;
  const Offsets at_;
  Staging staging_;
  std::vector<char> slot_taken_;  // scratch of Fill
};

}  // namespace tritogen
