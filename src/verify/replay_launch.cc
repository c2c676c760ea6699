#include "verify/replay_launch.h"

#include <algorithm>
#include <utility>

#include "device/lowered_kernels.h"
#include "tile/tile.h"
#include "verify/replay_error.h"

namespace tritogen {
namespace {

using Failure = ReplayFailure::Kind;

TensorId TensorOf(const KernelArg& arg) {
  if (const auto* pointer = std::get_if<PointerArg>(&arg)) return pointer->tensor;
  if (const auto* desc = std::get_if<DescriptorArg>(&arg)) return desc->tensor;
  return kNoTensor;
}

// The storages that a launch's tensors live in, each once.
class BufferTable {
 public:
  BufferTable(const std::vector<at::Tensor>& slots, UndefinedMemory* undefined)
      : slots_(slots), undefined_(undefined) {}

  // Index of the tensor's buffer.
  int Add(TensorId id, const std::string& name) {
    const at::Tensor& tensor = slots_[id];
    const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    auto found = std::find(storages_.begin(), storages_.end(), storage);
    if (found == storages_.end()) {
      found = storages_.insert(storages_.end(), storage);
      auto* data = static_cast<std::byte*>(tensor.storage().mutable_data());
      buffers_.push_back({data, tensor.storage().nbytes(), undefined_->MapOf(tensor), name});
    }
    return static_cast<int>(found - storages_.begin());
  }

  std::span<tile::Buffer> buffers() { return buffers_; }

 private:
  const std::vector<at::Tensor>& slots_;
  UndefinedMemory* undefined_;
  std::vector<const c10::StorageImpl*> storages_;
  std::vector<tile::Buffer> buffers_;
};

[[noreturn]] void FailWith(const tile::Fault& fault, int line) {
  bool ended = fault.kind == tile::FaultKind::kTimeout || fault.kind == tile::FaultKind::kDeadlock;
  bool assertion = fault.kind == tile::FaultKind::kAssert;
  auto kind = ended ? Failure::kTimeout : assertion ? Failure::kRuntimeError : Failure::kMemoryError;
  throw ReplayError{{kind, fault.message, fault.line ? fault.line : line, fault}};
}

class TileLaunch final : public LaunchCall {
 public:
  TileLaunch(const Plan& plan, const LaunchStep& step, const ReplayOptions& options,
             const std::vector<std::string>& names)
      : LaunchCall(plan, step, options), options_(&options), names_(&names) {
    executable_ = Understand();
  }

  void Call(const std::vector<at::Tensor>& slots, UndefinedMemory* undefined,
            double seconds_left) const override;

 private:
  const ReplayOptions* options_;
  const std::vector<std::string>* names_;
  std::shared_ptr<const tile::Executable> executable_;
};

void TileLaunch::Call(const std::vector<at::Tensor>& slots, UndefinedMemory* undefined,
                      double seconds_left) const {
  BufferTable table(slots, undefined);
  std::vector<tile::Argument> arguments;
  for (const KernelArg& arg : variant().args) {
    TensorId id = TensorOf(arg);
    int buffer = id == kNoTensor ? -1 : table.Add(id, (*names_)[plan().tensors[id].storage]);
    int64_t offset = id == kNoTensor ? 0 : slots[id].storage_offset() * slots[id].element_size();
    if (const auto* desc = std::get_if<DescriptorArg>(&arg)) {
      arguments.push_back(
          tile::DescriptorArgument{buffer, offset, desc->shape, desc->strides, desc->pad_nan});
    } else if (std::holds_alternative<PointerArg>(arg)) {
      arguments.push_back(tile::PointerArgument{buffer, offset});
    } else if (const auto* integer = std::get_if<int64_t>(&arg)) {
      arguments.push_back(*integer);
    } else {
      arguments.push_back(std::get<double>(arg));
    }
  }
  tile::LaunchOptions launch;
  launch.grid = variant().grid;
  launch.order_seed = options_->order_seed;
  launch.threads = options_->threads;
  launch.warps = kernel().options.num_warps;
  launch.check_memory = options_->check_memory;
  launch.blame_lanes = options_->blame_lanes;
  launch.like_a_gpu = options_->leftovers;
  launch.deadline_seconds = seconds_left;
  try {
    tile::LaunchReport report = tile::Launch(*executable_, arguments, table.buffers(), launch);
    if (!report.faults.empty()) FailWith(report.faults.front(), line());
  } catch (const tile::TtirError& error) {
    FailReplay(Failure::kRuntimeError, line(), "launch of {}: {}", kernel().name, error.what());
  }
}

}  // namespace

LaunchCall::LaunchCall(const Plan& plan, const LaunchStep& step, const ReplayOptions& options)
    : plan_(&plan),
      variant_(&step.variants[static_cast<size_t>(std::max(options.variant, 0)) % step.variants.size()]),
      line_(step.line) {}

std::shared_ptr<const tile::Executable> LaunchCall::Understand() {
  LoweredKernels& cache = LoweredKernels::Global();
  std::shared_ptr<const tile::Executable> executable;
  try {
    executable = cache.Get(kernel().ttir);
    FindWrites(cache.Writes(kernel().ttir));
  } catch (const tile::TtirError& error) {
    FailReplay(Failure::kCompileError, line_, "kernel {}: {} (line {} of its TTIR)", kernel().name,
               error.what(), error.line());
  }
  if (tile::Inspect(*executable).inline_assembly) {
    FailReplay(Failure::kCompileError, line_,
               "kernel {}: inline assembly is not accepted (gdc_wait and gdc_launch_dependents are such)",
               kernel().name);
  }
  return executable;
}

void LaunchCall::FindWrites(const std::vector<bool>& written) {
  size_t parameter = 0;
  for (const KernelArg& arg : variant_->args) {
    // Too few parameters: the launch will say so, before anything is written.
    const bool writes = parameter < written.size() && written[parameter];
    if (TensorOf(arg) != kNoTensor && writes) writes_.push_back(TensorOf(arg));
    const auto* desc = std::get_if<DescriptorArg>(&arg);
    parameter += desc ? 1 + 2 * desc->shape.size() : 1;
  }
}

std::unique_ptr<LaunchCall> MakeTileLaunch(const Plan& plan, const LaunchStep& step,
                                           const ReplayOptions& options,
                                           const std::vector<std::string>& names) {
  return std::make_unique<TileLaunch>(plan, step, options, names);
}

}  // namespace tritogen
