// Products of training by cuBLASLt, each by the algorithm that a trial has found the quickest: the library
// names several for a shape, and its first is not always the best one. Algorithms sum in different orders, so
// that what was chosen belongs to a run's state, as text.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace tritogen::train {

// By "forward 9728x32768x896" and the like (columns and rows of the result, what is summed over): cuBLASLt's
// description of an algorithm in hexadecimal digits, or "aten": as src/train/linear.h does it.
using ProductChoices = std::map<std::string, std::string>;

class ChosenProducts {
 public:
  // REQUIRES: a GPU is open. `choices`: of an earlier run; those that this library does not take any more are
  // left out. Throws UserError when the library cannot be loaded.
  explicit ChosenProducts(ProductChoices choices = {});
  ~ChosenProducts();
  ChosenProducts(const ChosenProducts&) = delete;
  ChosenProducts& operator=(const ChosenProducts&) = delete;

  // Chooses, where nothing is chosen yet, for the three products of a run of `tokens` with matrices of the
  // size of this one (bf16, [out, in]), with a bias or an undefined one, whose results have rows of `stride`
  // elements. Takes memory for them, and waits for the device.
  void Try(int64_t tokens, const at::Tensor& matrix, const at::Tensor& bias, int64_t stride);
  const ProductChoices& choices() const { return choices_; }

  // As in linear.h, and by that where nothing is chosen.
  void Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& out);
  void LinearToInput(const at::Tensor& d_out, const at::Tensor& weight, const at::Tensor& d_x);
  void LinearToWeights(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& d_weight, bool add);

 private:
  struct Product;  // as cuBLAS sees it: columns first
  struct Plan;     // its descriptions and algorithm
  using ByAten = std::function<void()>;

  static Product Forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         const at::Tensor& out);
  static Product ToInput(const at::Tensor& d_out, const at::Tensor& weight, const at::Tensor& d_x);
  static Product ToWeights(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& d_weight,
                           bool add);
  void Choose(const Product& product, const ByAten& by_aten);
  void Run(const Product& product, const ByAten& by_aten);
  int64_t Quickest(Plan* plan, const Product& product, const ByAten& by_aten);
  bool Launch(Plan* plan, const Product& product, int64_t algorithm);

  ProductChoices choices_;
  std::map<std::string, std::unique_ptr<Plan>> plans_;  // of choices that are not ATen's
  void* handle_ = nullptr;
  at::Tensor workspace_;
};

}  // namespace tritogen::train
