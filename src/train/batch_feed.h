// The batches of each step, in page-locked memory, made while the device computes the step before.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <future>
#include <vector>

#include "train/packing.h"
#include "train/training_pass.h"

namespace tritogen::train {

// A batch's place in the stream of all epochs' batches.
struct Place {
  int64_t epoch = 0, batch = 0;
};

// PackedBatch as tensors on the host.
DeviceBatch OnHost(const PackedBatch& batch, bool page_locked);
// To the device, in stream order, without waiting.
DeviceBatch OnDevice(const DeviceBatch& batch, at::Device device);

struct StepBatches {
  std::vector<DeviceBatch> mine;  // this rank's, on the host
  std::vector<Place> places;      // of all ranks' batches; batch i is rank i % ranks' own
  double weight = 0;              // of all targets of all of them
  // Without padding, of all of them: tokens, those that are learned, and the sum of the squares of documents'
  // lengths.
  int64_t tokens = 0, learned = 0;
  double squared_lengths = 0;
  Place next;  // where the step behind begins
};

class BatchFeed {
 public:
  // `batches`: of a step. REQUIRES: a multiple of `ranks`. The packer outlives it, and is its alone.
  BatchFeed(Packer* packer, Place from, int64_t batches, int rank, int ranks, bool page_locked);
  ~BatchFeed() { Wait(); }

  StepBatches Next();
  // Afterwards the packer is the caller's: Next must not be called any more.
  void Wait();

 private:
  StepBatches Make(Place from);

  Packer* packer_;
  int64_t count_;
  int rank_, ranks_;
  bool page_locked_;
  int64_t epoch_ = -1;  // that the packer is at
  std::future<StepBatches> next_;
};

// Batches of so many epochs.
int64_t CountBatches(Packer* packer, int64_t epochs);

}  // namespace tritogen::train
