// A decoder's weights as the CPU runner reads them: in place, arranged for its kernels, or as int8 with a
// scale for each row.
#pragma once

#include <memory>
#include <vector>

#include "model/decoder.h"
#include "runner/cpu/kernels.h"

namespace tritogen {

struct CpuLayer {
  const float *input_norm = nullptr, *mlp_norm = nullptr;
  const float *q_norm = nullptr, *k_norm = nullptr;  // or none
  cpu::Matrix qkv, attention_out, gate_up, down;
};

class CpuModel {
 public:
  // Arranged weights lie in memory beside those that they are made of, at most so many bytes; the rest is
  // read in place.
  static constexpr int64_t kMostArranged = int64_t{2} << 30;

  // REQUIRES: contiguous weights on the CPU.
  CpuModel(std::shared_ptr<const DecoderWeights> weights, bool int8_weights, cpu::Level level,
           int64_t most_arranged = kMostArranged);

  void Refresh();  // the weights hold other numbers now

  const ModelConfig& config() const { return weights_->config; }
  const std::vector<CpuLayer>& layers() const { return layers_; }
  const float* final_norm() const { return final_norm_; }
  const cpu::Matrix& embedding() const { return embedding_; }  // only rows are read
  const cpu::Matrix& output() const { return output_; }

 private:
  const float* Floats(const at::Tensor& tensor);
  cpu::Matrix InPlace(const at::Tensor& weight);
  cpu::Matrix MatrixOf(const at::Tensor& weight, const at::Tensor& bias);
  void Arrange(cpu::Matrix* matrix);  // in the order in which its kernels read it

  std::shared_ptr<const DecoderWeights> weights_;
  bool int8_weights_;
  cpu::Level level_;
  int64_t most_arranged_, arranged_ = 0;  // bytes
  std::vector<at::Tensor> copies_;        // what the pointers below point to, beside the weights themselves
  std::vector<CpuLayer> layers_;
  const float* final_norm_ = nullptr;
  cpu::Matrix embedding_, output_;
};

}  // namespace tritogen
