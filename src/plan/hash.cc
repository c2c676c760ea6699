#include "plan/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/sha256.h"
#include "base/ttir_text.h"
#include "plan/serialize.h"
#include "plan/visit.h"

namespace tritogen {
namespace {

// Rebuilds a Plan with everything numbered in order of first use, and without what has no effect on what it
// computes.
class Canonicalizer {
 public:
  explicit Canonicalizer(const Plan& plan)
      : plan_(plan), tensors_(plan.tensors.size(), kNoTensor), storages_(plan.storages.size(), -1) {}

  Plan Build() {
    canonical_.run = Steps(plan_.run);
    canonical_.outputs = Values(plan_.outputs);
    canonical_.setup = Steps(plan_.setup);
    canonical_.generate = Steps(plan_.generate);
    canonical_.init_inputs = Values(plan_.init_inputs);
    canonical_.inputs = Values(plan_.inputs);
    canonical_.warmup_inputs = Values(plan_.warmup_inputs);
    canonical_.state = plan_.state;
    auto by_name = [](const StateEntry& a, const StateEntry& b) { return a.name < b.name; };
    std::sort(canonical_.state.begin(), canonical_.state.end(), by_name);
    for (StateEntry& entry : canonical_.state) entry.tensor = Tensor(entry.tensor);
    canonical_.structure = plan_.structure;
    canonical_.packed = plan_.packed;
    canonical_.training = plan_.training;
    return std::move(canonical_);
  }

 private:
  TensorId Tensor(TensorId id) {
    if (id == kNoTensor) return id;
    if (tensors_[id] == kNoTensor) {
      tensors_[id] = static_cast<TensorId>(canonical_.tensors.size());
      canonical_.tensors.push_back(plan_.tensors[id]);
      canonical_.tensors.back().storage = Storage(plan_.tensors[id].storage);
    }
    return tensors_[id];
  }

  StorageId Storage(StorageId id) {
    if (storages_[id] == -1) {
      storages_[id] = static_cast<StorageId>(canonical_.storages.size());
      canonical_.storages.push_back(plan_.storages[id]);
    }
    return storages_[id];
  }

  int KernelIndex(int index) {
    const Kernel& kernel = plan_.kernels[index];
    Kernel bare{kernel.name, StripLocations(kernel.ttir), "", "", kernel.options};
    std::string key = fmt::format("{}\n{}", ToJson(kernel.options).dump(), bare.ttir);
    auto [found, is_new] = kernels_.emplace(std::move(key), static_cast<int>(canonical_.kernels.size()));
    if (is_new) canonical_.kernels.push_back(std::move(bare));
    return found->second;
  }

  Value Renumber(const Value& value) {
    if (const auto* tensor = std::get_if<TensorRef>(&value.v)) return {TensorRef{Tensor(tensor->id)}};
    if (const auto* list = std::get_if<Value::List>(&value.v)) return {Values(*list)};
    if (const auto* dict = std::get_if<Value::Dict>(&value.v))
      return {Value::Dict{dict->type, dict->keys, Values(dict->items)}};
    return value;
  }

  std::vector<Value> Values(const std::vector<Value>& values) {
    std::vector<Value> out;
    for (const Value& value : values) out.push_back(Renumber(value));
    return out;
  }

  std::vector<Step> Steps(const std::vector<Step>& steps) {
    std::vector<Step> out;
    for (const Step& step : steps) {
      out.push_back(std::visit([this](const auto& s) { return Bare(s); }, step));
    }
    return out;
  }

  Step Bare(const AtenStep& step) {
    AtenStep out{step.op, Values(step.args), {}, {}, 0};
    for (const auto& [name, value] : step.kwargs) out.kwargs.emplace_back(name, Renumber(value));
    for (TensorId id : step.outs) out.outs.push_back(Tensor(id));
    return out;
  }

  Step Bare(const ConstantStep& step) { return ConstantStep{Tensor(step.out), step.data, 0}; }

  Step Bare(const LaunchStep& step) {
    LaunchStep out;
    for (const LaunchVariant& variant : step.variants) {
      LaunchVariant bare{KernelIndex(variant.kernel), variant.grid, variant.args, {}};
      for (KernelArg& arg : bare.args) {
        if (auto* pointer = std::get_if<PointerArg>(&arg)) pointer->tensor = Tensor(pointer->tensor);
        if (auto* desc = std::get_if<DescriptorArg>(&arg)) desc->tensor = Tensor(desc->tensor);
      }
      out.variants.push_back(std::move(bare));
    }
    return out;
  }

  const Plan& plan_;
  Plan canonical_;
  std::vector<TensorId> tensors_;    // old id → new id
  std::vector<StorageId> storages_;  // old id → new id
  std::map<std::string, int> kernels_;
};

}  // namespace

std::string PlanHash(const Plan& plan) {
  std::string bytes;
  nlohmann::json::to_msgpack(ToJson(Canonicalizer(plan).Build()), bytes);
  return Sha256Hex(bytes);
}

}  // namespace tritogen
