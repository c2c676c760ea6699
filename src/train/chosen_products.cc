#include "train/chosen_products.h"

#include <ATen/ATen.h>
#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/shared_library.h"
#include "device/gpu.h"
#include "train/linear.h"

namespace tritogen::train {
namespace {

constexpr int64_t kWorkspace = int64_t{64} << 20;  // bytes
constexpr uint32_t kAlignment = 32;                // bytes: kFlatAlignment elements of bf16
constexpr int kMostAlgorithms = 12;                // of a product, that are tried
constexpr int kRounds = 3;                         // of a trial, over all algorithms
constexpr double kRoundMs = 4;                     // of one algorithm, about
constexpr double kWorthwhile = 0.99;               // of ATen's time, at most
constexpr double kMostError = 0.01;                // from ATen's result, in 2-norms: both round to bf16

#define TRITOGEN_LT_FUNCTIONS(X)          \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic) X(cublasLtMatmulAlgoCheck) X(cublasLtMatmul)

// The library that libtorch_cuda needs, and has brought when the GPU was opened.
struct Library {
#define X(function) decltype(&::function) function = nullptr;
  TRITOGEN_LT_FUNCTIONS(X)
#undef X

  Library() {
    const SharedLibrary library("libcublasLt.so.13", "cuBLASLt");
#define X(function) library.Find(#function, &function);
    TRITOGEN_LT_FUNCTIONS(X)
#undef X
  }
};

const Library& Lt() {
  static const Library library;
  return library;
}

void Must(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw InternalError(fmt::format("cuBLASLt cannot {}: {}", what, static_cast<int>(status)));
}

cudaDataType_t TypeOf(const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kFloat) return CUDA_R_32F;
  TRITOGEN_CHECK(tensor.scalar_type() == at::kBFloat16);
  return CUDA_R_16BF;
}

std::string Hex(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const uint64_t word : algorithm.data) text += fmt::format("{:016x}", word);
  return text;
}

// False: it is no such text.
bool FromHex(const std::string& text, cublasLtMatmulAlgo_t* algorithm) {
  if (text.size() != 16 * std::size(algorithm->data)) return false;
  if (text.find_first_not_of("0123456789abcdef") != text.npos) return false;
  for (size_t i = 0; i < std::size(algorithm->data); ++i)
    algorithm->data[i] = std::stoull(text.substr(16 * i, 16), nullptr, 16);
  return true;
}

// Milliseconds of each of so many calls.
double Time(const std::function<void()>& call, int64_t calls) {
  Gpu& gpu = *Gpu::Current();
  const cuda::Driver& driver = gpu.driver();
  CUevent from = nullptr, to = nullptr;
  cuda::Check(driver.cuEventCreate(&from, CU_EVENT_DEFAULT), "make an event");
  cuda::Check(driver.cuEventCreate(&to, CU_EVENT_DEFAULT), "make an event");
  cuda::Check(driver.cuEventRecord(from, gpu.stream()), "record an event");
  for (int64_t i = 0; i < calls; ++i) call();
  cuda::Check(driver.cuEventRecord(to, gpu.stream()), "record an event");
  gpu.Synchronize(60);
  float ms = 0;
  cuda::Check(driver.cuEventElapsedTime(&ms, from, to), "read the clock");
  driver.cuEventDestroy(from), driver.cuEventDestroy(to);
  return static_cast<double>(ms) / static_cast<double>(calls);
}

}  // namespace

bool IsProductChoice(const std::string& text) {
  cublasLtMatmulAlgo_t ignored;
  return text == kByAten || FromHex(text, &ignored);
}

// d = op(a) · op(b), of matrices whose columns lie one after the other; ours, whose rows do, are transposed.
struct ChosenProducts::Product {
  std::string name;
  at::Tensor a, b, d, bias;
  bool transposed_a = false, transposed_b = false, add = false;

  int64_t inner() const { return transposed_a ? a.size(1) : a.size(0); }
  std::string Key() const {
    return fmt::format("{} {}x{}x{}{}{}", name, d.size(1), d.size(0), inner(), bias.defined() ? " bias" : "",
                       d.stride(0) == d.size(1) ? "" : fmt::format(" of {}", d.stride(0)));
  }
};

struct ChosenProducts::Plan {
  explicit Plan(const Product& product) {
    Must(Lt().cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a product");
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
      Must(Lt().cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)), "describe it");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, product.transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, product.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (product.bias.defined()) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      SetBias(product.bias);
    }
    const auto describe = [](const at::Tensor& tensor) {
      cublasLtMatrixLayout_t layout = nullptr;
      Must(Lt().cublasLtMatrixLayoutCreate(&layout, TypeOf(tensor), tensor.size(1), tensor.size(0),
                                           tensor.stride(0)),
           "describe a matrix");
      return layout;
    };
    a = describe(product.a), b = describe(product.b), d = describe(product.d);
  }
  ~Plan() {
    Lt().cublasLtMatmulDescDestroy(operation);
    for (const cublasLtMatrixLayout_t layout : {a, b, d}) Lt().cublasLtMatrixLayoutDestroy(layout);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void SetBias(const at::Tensor& bias) {
    const void* at = bias.const_data_ptr();
    Must(Lt().cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &at, sizeof(at)),
         "take a bias");
  }
  void AskForAlgorithms(cublasLtHandle_t handle);

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  std::vector<cublasLtMatmulAlgo_t> algorithms;
};

void ChosenProducts::Plan::AskForAlgorithms(cublasLtHandle_t handle) {
  cublasLtMatmulPreference_t preference = nullptr;
  Must(Lt().cublasLtMatmulPreferenceCreate(&preference), "say what is wanted");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    Must(Lt().cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)), "say it");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kWorkspace));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(attribute, kAlignment);
  std::vector<cublasLtMatmulHeuristicResult_t> found(kMostAlgorithms);
  int count = 0;
  const cublasStatus_t status = Lt().cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, d, d, preference,
                                                                    kMostAlgorithms, found.data(), &count);
  Lt().cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS) return;  // none: ATen has its ways
  for (int i = 0; i < count; ++i)
    if (found[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(found[i].algo);
}

ChosenProducts::ChosenProducts(std::optional<ProductChoices> taken) : taken_(std::move(taken)) {
  Must(Lt().cublasLtCreate(reinterpret_cast<cublasLtHandle_t*>(&handle_)), "begin");
  workspace_ = at::empty({kWorkspace}, at::TensorOptions(at::kByte).device(Gpu::Current()->device()));
}

ChosenProducts::~ChosenProducts() {
  plans_.clear();
  Lt().cublasLtDestroy(static_cast<cublasLtHandle_t>(handle_));
}

ChosenProducts::Product ChosenProducts::Forward(const at::Tensor& x, const at::Tensor& weight,
                                                const at::Tensor& bias, const at::Tensor& out) {
  return {.name = "forward", .a = weight, .b = x, .d = out, .bias = bias, .transposed_a = true};
}

ChosenProducts::Product ChosenProducts::ToInput(const at::Tensor& d_out, const at::Tensor& weight,
                                                const at::Tensor& d_x) {
  return {.name = "to input", .a = weight, .b = d_out, .d = d_x};
}

ChosenProducts::Product ChosenProducts::ToWeights(const at::Tensor& d_out, const at::Tensor& x,
                                                  const at::Tensor& d_weight, bool add) {
  return {.name = "to weights", .a = x, .b = d_out, .d = d_weight, .transposed_b = true, .add = add};
}

void ChosenProducts::Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& out) {
  Run(Forward(x, weight, bias, out), [&] { train::Linear(x, weight, bias, out); });
}

void ChosenProducts::LinearToInput(const at::Tensor& d_out, const at::Tensor& weight, const at::Tensor& d_x) {
  Run(ToInput(d_out, weight, d_x), [&] { train::LinearToInput(d_out, weight, d_x); });
}

void ChosenProducts::LinearToWeights(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& d_weight,
                                     bool add) {
  Run(ToWeights(d_out, x, d_weight, add), [&] { train::LinearToWeights(d_out, x, d_weight, add); });
}

// False: it does not take this algorithm.
bool ChosenProducts::Launch(Plan* plan, const Product& product, int64_t algorithm) {
  if (product.bias.defined()) plan->SetBias(product.bias);
  const float one = 1, beta = product.add ? 1 : 0;
  const cublasStatus_t status = Lt().cublasLtMatmul(
      static_cast<cublasLtHandle_t>(handle_), plan->operation, &one, product.a.const_data_ptr(), plan->a,
      product.b.const_data_ptr(), plan->b, &beta, product.d.const_data_ptr(), plan->d,
      product.d.mutable_data_ptr(), plan->d, &plan->algorithms[algorithm], workspace_.mutable_data_ptr(),
      kWorkspace, reinterpret_cast<cudaStream_t>(Gpu::Current()->stream()));
  return status == CUBLAS_STATUS_SUCCESS;
}

void ChosenProducts::Run(const Product& product, const ByAten& by_aten) {
  const auto choice = choices_.find(product.Key());
  if (choice == choices_.end() || choice->second == kByAten) return by_aten();
  std::unique_ptr<Plan>& plan = plans_[choice->first];
  if (plan == nullptr) {
    plan = std::make_unique<Plan>(product);
    cublasLtMatmulAlgo_t algorithm;
    if (FromHex(choice->second, &algorithm)) plan->algorithms.push_back(algorithm);
  }
  if (!Launch(plan.get(), product, 0)) throw InternalError("cuBLASLt refuses what it took: " + choice->first);
}

// What a trial comes to: the place of the quickest algorithm, -1 for ATen's. All take turns, so that they
// meet the clock as it is.
int64_t ChosenProducts::Quickest(Plan* plan, const Product& product, const ByAten& by_aten) {
  const auto calls = std::max<int64_t>(1, static_cast<int64_t>(kRoundMs / Time(by_aten, 2)));
  const auto count = static_cast<int64_t>(plan->algorithms.size());
  double aten = std::numeric_limits<double>::infinity();
  std::vector<double> least(plan->algorithms.size(), aten);
  std::vector<bool> works;
  for (int64_t i = 0; i < count; ++i) works.push_back(Launch(plan, product, i));
  for (int round = 0; round < kRounds; ++round) {
    aten = std::min(aten, Time(by_aten, calls));
    for (int64_t i = 0; i < count; ++i) {
      if (works[i]) least[i] = std::min(least[i], Time([&] { Launch(plan, product, i); }, calls));
    }
  }
  const auto best = std::min_element(least.begin(), least.end());
  return best == least.end() || *best > kWorthwhile * aten ? -1 : best - least.begin();
}

// Whether it does the product, and as ATen does but for rounding.
bool ChosenProducts::Agrees(Plan* plan, const Product& product, int64_t algorithm, const ByAten& by_aten) {
  by_aten();
  const at::Tensor expected = product.d.clone();
  const double size = expected.norm().item<double>();
  if (!Launch(plan, product, algorithm)) return false;
  return expected.sub_(product.d).norm().item<double>() <= kMostError * size;
}

void ChosenProducts::Take(const Product& product, const ByAten& by_aten) {
  const auto taken = taken_->find(product.Key());
  if (taken == taken_->end() || taken->second == kByAten || choices_.contains(taken->first)) return;
  Plan plan(product);
  cublasLtMatmulAlgo_t algorithm;
  cublasLtMatmulHeuristicResult_t result;
  bool works =
      FromHex(taken->second, &algorithm) &&
      Lt().cublasLtMatmulAlgoCheck(static_cast<cublasLtHandle_t>(handle_), plan.operation, plan.a, plan.b,
                                   plan.d, plan.d, &algorithm, &result) == CUBLAS_STATUS_SUCCESS &&
      result.workspaceSize <= static_cast<size_t>(kWorkspace);
  if (works) plan.algorithms.push_back(algorithm);
  works = works && Agrees(&plan, product, 0, by_aten);
  if (works)
    choices_.insert(*taken);
  else
    refused_.insert(taken->first);
}

void ChosenProducts::Choose(const Product& product, const ByAten& by_aten) {
  if (taken_) return Take(product, by_aten);
  const auto [choice, is_new] = choices_.try_emplace(product.Key(), kByAten);
  if (!is_new) return;
  Plan plan(product);
  plan.AskForAlgorithms(static_cast<cublasLtHandle_t>(handle_));
  const int64_t best = Quickest(&plan, product, by_aten);
  if (best >= 0 && Agrees(&plan, product, best, by_aten)) choice->second = Hex(plan.algorithms[best]);
}

void ChosenProducts::Try(int64_t tokens, const at::Tensor& matrix, const at::Tensor& bias, int64_t stride) {
  const at::TensorOptions options = matrix.options();
  const int64_t out = matrix.size(0), in = matrix.size(1);
  // Random numbers: the card's clock depends on how many bits change.
  const at::Tensor x = at::randn({tokens, in}, options), weight = at::randn({out, in}, options),
                   y = at::randn({tokens, stride}, options).narrow(1, 0, out),
                   b = bias.defined() ? at::randn({out}, options) : at::Tensor(),
                   d_weight = at::empty({out, in}, options.dtype(at::kFloat));
  Choose(Forward(x, weight, b, y), [&] { train::Linear(x, weight, b, y); });
  Choose(ToWeights(y, x, d_weight, false), [&] { train::LinearToWeights(y, x, d_weight, false); });
  Choose(ToInput(y, weight, x), [&] { train::LinearToInput(y, weight, x); });
}

}  // namespace tritogen::train
