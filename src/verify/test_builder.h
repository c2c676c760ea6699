// Plans for the tests of what is said from a Plan alone: nothing here can be replayed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// A Plan under construction: every tensor is contiguous and has a storage of its own unless it is a view.
struct Builder {
  Plan plan;

  TensorId Tensor(std::vector<int64_t> sizes, StorageId storage = -1, Dtype dtype = Dtype::kFloat32) {
    TensorMeta meta;
    meta.sizes = sizes;
    meta.strides.assign(sizes.size(), 1);
    for (size_t d = sizes.size(); d-- > 1;) meta.strides[d - 1] = meta.strides[d] * sizes[d];
    meta.dtype = dtype;
    meta.storage = storage >= 0 ? storage : static_cast<StorageId>(plan.storages.size());
    if (storage < 0) plan.storages.push_back(meta.numel() * static_cast<int64_t>(DtypeSize(dtype)));
    plan.tensors.push_back(meta);
    return static_cast<TensorId>(plan.tensors.size()) - 1;
  }
  TensorId Input(std::vector<int64_t> sizes) {
    const TensorId id = Tensor(std::move(sizes));
    plan.inputs.push_back(Ref(id));
    return id;
  }
  static Value Ref(TensorId id) { return Value{TensorRef{id}}; }
  AtenStep& Call(const std::string& op, const std::vector<TensorId>& args, std::vector<TensorId> outs) {
    AtenStep step{op, {}, {}, std::move(outs), 1};
    for (const TensorId id : args) step.args.push_back(Ref(id));
    plan.run.emplace_back(step);
    return std::get<AtenStep>(plan.run.back());
  }
  void Launch(const std::vector<TensorId>& buffers) {
    LaunchVariant variant;
    variant.kernel = 0;
    for (const TensorId id : buffers) variant.args.emplace_back(PointerArg{id});
    plan.run.emplace_back(LaunchStep{{variant}, 2});
  }
  Plan Return(TensorId id) {
    plan.outputs = {Ref(id)};
    plan.structure = "*";
    return plan;
  }
};

// A product and what follows it, each by PyTorch or in Triton.
inline Plan MatmulThenRelu(bool matmul_in_triton, bool relu_in_triton) {
  Builder b;
  const TensorId x = b.Input({64, 64}), w = b.Input({64, 64}), c = b.Tensor({64, 64}), y = b.Tensor({64, 64});
  auto step = [&](bool triton, const std::string& op, std::vector<TensorId> in, TensorId out) {
    if (!triton) {
      b.Call(op, in, {out});
      return;
    }
    b.Call("aten::empty_like", {x}, {out});
    in.push_back(out);
    b.Launch(in);
  };
  step(matmul_in_triton, "aten::mm", {x, w}, c);
  step(relu_in_triton, "aten::relu", {c}, y);
  return b.Return(y);
}

}  // namespace tritogen
