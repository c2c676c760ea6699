// A decoder's forward pass over rows of any sequences, with the paged cache of their keys and values.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_team.h"
#include "model/rope.h"
#include "runner/cpu_model.h"
#include "text/bpe.h"

namespace tritogen {

// One token at one position. `blocks`: of the sequence, in order, up to that position. `length`: positions of
// the text that its angles go by (MakeRopeTable). `twins`: blocks of other sequences with the same text,
// which get its keys and values, too.
struct ForwardRow {
  TokenId token = 0;
  int32_t position = 0;
  const int32_t* blocks = nullptr;
  int32_t length = 0;
  std::vector<int32_t> twins = {};
};

class CpuForward {
 public:
  static constexpr int64_t kMostRows = 256;  // at once: so many that activations stay in the cores' caches

  static int64_t BlockBytes(const ModelConfig& config, cpu::Element cache);
  // float32 for weights of float32 and float16, else bfloat16.
  static cpu::Element CacheElement(const CpuModel& model);

  // Throws UserError when there is no memory for the cache. `model` and `team` must outlive it.
  CpuForward(const CpuModel& model, cpu::Level level, int64_t blocks, int64_t context, ThreadTeam* team);

  void CopyBlock(int32_t from, int32_t to);
  // Puts keys and values of all rows into the cache; those from `first` on go through the whole model. Rows
  // of one sequence have rising positions. REQUIRES: at most kMostRows.
  void Run(std::span<const ForwardRow> rows, int64_t first);
  // Of rows that the last Run took through the whole model, by their place in it; [rows, vocabulary].
  void Logits(std::span<const int64_t> rows, float* logits);

 private:
  using RowInput = std::function<void(int64_t row, float* out)>;
  struct Freed {
    void operator()(void* memory) const { std::free(memory); }
  };
  template <typename T>
  using Memory = std::unique_ptr<T[], Freed>;  // touched first when it is used

  template <typename T>
  static Memory<T> Allocate(int64_t count, const char* what);

  void Embed(std::span<const ForwardRow> rows);
  const RopeTable& RopeOf(int32_t length);
  void Pack(const cpu::Matrix& matrix, int64_t rows, const RowInput& input);
  void Multiply(const cpu::Matrix& matrix, int64_t rows, bool add, float* y, int64_t y_stride);
  void PlaceKeys(const CpuLayer& layer, int64_t index, std::span<const ForwardRow> rows, int64_t first);
  void Attend(int64_t index, std::span<const ForwardRow> rows, int64_t first);
  std::byte* Head(int64_t block, int64_t layer, int64_t kv_head) const;

  const CpuModel& model_;
  const ModelConfig& config_;
  const cpu::RowKernels& kernels_;
  ThreadTeam& team_;
  RopeTable rope_, stretched_;
  int32_t stretched_length_ = 0;  // of stretched_
  cpu::Element element_;          // of the cache
  int64_t block_bytes_, qkv_width_, scores_of_thread_, input_of_thread_;
  Memory<std::byte> cache_;
  // [kMostRows] each: the residual stream; q, k, v or gate, up; attention's result; angles.
  Memory<float> hidden_, wide_, mixed_, cos_, sin_;
  Memory<std::byte> tiles_;        // what is multiplied
  Memory<float> scores_, inputs_;  // of each thread
};

}  // namespace tritogen
