#include "teach/lower.h"

#include <algorithm>

#include "base/error.h"
#include "program/catalogue.h"
#include "program/print.h"
#include "teach/lowering.h"
#include "teach/updates.h"

namespace tritogen::teach {
namespace {

void CollectRefs(const Arg& arg, std::vector<NodeRef>& refs) {
  if (const NodeRef* ref = AsRef(arg)) refs.push_back(*ref);
  if (const auto* list = std::get_if<Arg::List>(&arg.v)) {
    for (const Arg& item : *list) CollectRefs(item, refs);
  }
}

// "aten::_softmax" → "softmax", "aten::native_layer_norm" → "layer_norm", "aten::addmm" → "linear".
std::string PlainName(std::string_view op) {
  std::string name(BaseName(op));
  if (name.starts_with("_scaled_dot_product")) return "attention";
  while (name.starts_with('_')) name.erase(0, 1);
  if (name.starts_with("native_")) name.erase(0, 7);
  return name == "addmm" ? "linear" : name == "mm" || name == "bmm" ? "matmul" : name;
}

bool IsFloatCompute(const Node& node) {
  return IsFloating(node.results[0].dtype);
}

// Where the lower bound is above the upper one, that is what `clamp` gives; of numbers one sees which is
// which.
bool BoundsMayCross(const BoundArgs& args) {
  if (IsNone(args["min"]) || IsNone(args["max"])) return false;
  const auto low = AsNumber(args["min"]), high = AsNumber(args["max"]);
  return !low || !high || *low > *high;
}
constexpr std::string_view kUpperBoundWins =
    "tl.minimum(tl.maximum({self}, {min}, propagate_nan=tl.PropagateNan.ALL), {max}, "
    "propagate_nan=tl.PropagateNan.ALL)";

}  // namespace

std::vector<NodeRef> TensorArguments(const Node& node) {
  std::vector<NodeRef> refs;
  for (const Arg& arg : node.args) CollectRefs(arg, refs);
  for (const auto& [name, arg] : node.kwargs) CollectRefs(arg, refs);
  return refs;
}

bool LowerPointwise(Builder& b, const Node& node, const OpRow& row, const BoundArgs& args) {
  const Shape& result = node.results[0];
  // Half of a step is a tie that an approximate quotient would miss.
  constexpr std::string_view kRound[] = {"round", "floor", "ceil", "trunc"};
  if (IsFloating(result.dtype) ? std::ranges::count(kRound, row.name) > 0 : row.name == "_to_copy")
    b.RoundQuotient(b.Tensor(args, "self"));
  if (row.name == "_to_copy") {
    b.Return({b.Cast(b.Tensor(args, "self"), result.dtype)});
    return true;
  }
  if (row.name == "pow" && !IsFloatCompute(node)) return LowerIntegerPower(b, node, args);
  bool tensor = false;
  for (const auto& [name, arg] : args.all()) tensor |= AsRef(arg) != nullptr;
  if (!tensor || (row.compute == Compute::kResult && !IsFloatCompute(node) && !FitsIntegers(row.name)))
    return false;
  auto get = [&](NodeRef ref) {
    Value value = b.Get(ref);
    // One slope for each channel, which is dimension 1.
    if (row.name != "prelu" || AsRef(args["weight"])->id != ref.id || value.view.rank() != 1) return value;
    std::vector<int64_t> channels(std::max<size_t>(result.sizes.size(), 1), 1);
    if (channels.size() > 1) channels[1] = value.view.numel();
    return b.Reshape(value, channels);
  };
  const bool integers = !IsFloatCompute(node);
  OpRow exact = integers ? ForIntegers(row, result.dtype) : row;
  if (row.name == "clamp" && BoundsMayCross(args)) exact.cases = {{"", std::string(kUpperBoundWins)}};
  b.Return({b.Apply(exact, args, get, result.dtype)});
  return true;
}

class Lowering {
 public:
  Lowering(const Program& program, const LowerOptions& options)
      : program_(program), names_(PrintedNames(program)), b_(options) {
    b_.program_ = &program_;
    b_.memory_of_ = [this](NodeRef ref) { return MemoryOf(ref); };
  }

  std::optional<Graph> Run() {
    for (NodeId id = 0; id < static_cast<NodeId>(program_.nodes.size()); ++id) {
      const Node& node = program_.nodes[id];
      if (!IsSound(id)) return std::nullopt;
      if (IsEmpty(node)) {
        b_.values_.push_back({Empty(node.results[0])});
      } else if (node.kind != NodeKind::kOp) {
        b_.values_.push_back({Source(id)});
      } else {
        b_.results_.clear();
        const size_t first = b_.graph.prims.size();
        if (IsInPlace(node.op)) {
          b_.node = id;
          b_.results_ = {b_.DrawnOnOnes(node.results[0])};
        } else if (!LowerNode(node) || !Fits(id)) {
          Call(id);
        }
        for (Value& value : b_.results_) value = b_.AtOnePlace(value).value_or(value);
        NameResults(id, first);
        for (size_t i = first; i < b_.graph.prims.size(); ++i) b_.graph.prims[i].line = id;
        if (b_.options_.apart) SetApart(id, first);
        b_.values_.push_back(std::move(b_.results_));
      }
    }
    for (NodeRef ref : program_.outputs) {
      if (ref.id < 0) continue;  // not a tensor
      outputs_.push_back(ref);
      b_.graph.outputs.push_back(b_.Get(ref).view);
    }
    for (NodeId id : program_.updates) b_.graph.updates.push_back(b_.Get({id, 0}).view.prim);
    CopyWhereNothingIsComputed();
    b_.graph.RemoveUnused();
    CopyWhatOthersRead(&b_.graph);
    b_.JoinAttention();
    return std::move(b_.graph);
  }

 private:
  // Results are there and not empty; operands stand before; nothing is written in place or launched.
  bool IsSound(NodeId id) const {
    const Node& node = program_.nodes[id];
    if (node.results.empty() || (IsInPlace(node.op) && !DrawsIntoNewMemory(id)) || node.op == "launch")
      return false;
    if (IsEmpty(node) && !GoesNowhere(id)) return false;
    for (NodeRef ref : TensorArguments(node)) {
      if (ref.id < 0 || ref.id >= id || ref.result < 0) return false;
      if (ref.result >= static_cast<int>(program_.nodes[ref.id].results.size())) return false;
    }
    return true;
  }

  static bool IsEmpty(const Node& node) { return node.results.size() == 1 && node.results[0].numel() == 0; }

  // Of a value without elements, such as the keys of a cache at its first token: it is part of a longer one
  // at most.
  bool GoesNowhere(NodeId id) const {
    if (std::ranges::count(program_.outputs, NodeRef{id}) > 0) return false;
    return std::ranges::all_of(program_.nodes, [&](const Node& node) {
      return std::ranges::count(TensorArguments(node), NodeRef{id}) == 0 || IsEmpty(node) ||
             PlainName(node.op) == "cat";
    });
  }

  // Random numbers, such as x.exponential_() for a tensor that the program has made for them.
  bool DrawsIntoNewMemory(NodeId id) const {
    constexpr std::string_view kDraws[] = {"aten::exponential_", "aten::normal_", "aten::uniform_",
                                           "aten::geometric_",   "aten::cauchy_", "aten::log_normal_",
                                           "aten::bernoulli_",   "aten::random_"};
    const Node& node = program_.nodes[id];
    const std::string_view op = std::string_view(node.op).substr(0, node.op.find('.'));
    const NodeRef* into = node.args.empty() ? nullptr : AsRef(node.args[0]);
    if (std::ranges::find(kDraws, op) == std::end(kDraws) || into == nullptr) return false;
    const OpRow* maker =
        program_.nodes[into->id].kind == NodeKind::kOp ? FindOp(program_.nodes[into->id].op) : nullptr;
    return maker != nullptr && maker->kind == OpClass::kCreate && TensorArguments(node).size() == 1;
  }

  // A program of views alone still has to give tensors; and what the program makes anew (a clone, a shuffle
  // by one) must not be an input itself, nor a clone lie in another order than its own.
  void CopyWhereNothingIsComputed() {
    b_.graph.RemoveUnused();
    auto idle = [](const Prim& prim) {
      return prim.kind == PrimKind::kSource || prim.kind == PrimKind::kEmpty;
    };
    const bool all = std::all_of(b_.graph.prims.begin(), b_.graph.prims.end(), idle);
    for (size_t i = 0; i < b_.graph.outputs.size(); ++i) {
      View& view = b_.graph.outputs[i];
      if (view.prim < 0) continue;
      const bool update = i + b_.graph.updates.size() >= b_.graph.outputs.size();
      const NodeId memory = update ? -1 : MemoryOf(outputs_[i]);
      const std::string made_by = memory < 0 ? "" : PlainName(program_.nodes[memory].op);
      const bool laid_out = (made_by == "clone" || made_by == "contiguous") && !view.IsContiguous();
      if (b_.graph[view.prim].kind != PrimKind::kSource && !laid_out) continue;
      if (!all && !update && !laid_out && program_.nodes[memory].kind != NodeKind::kOp) continue;
      const Dtype dtype = b_.graph[view.prim].dtype;
      const Node& maker = program_.nodes[outputs_[i].id];
      b_.origin = maker.kind == NodeKind::kOp ? PlainName(maker.op) : "copy";
      view = b_.Pointwise(b_.origin, "{0}", {Value{view, dtype}}, dtype, 0).view;
    }
  }

  // Who made the memory in which a value lies: the way back from it through views.
  NodeId MemoryOf(NodeRef ref) const {
    constexpr std::string_view kViews[] = {
        "view",     "view_as",    "reshape", "flatten", "unflatten",        "squeeze", "unsqueeze",
        "permute",  "transpose",  "t",       "expand",  "expand_as",        "slice",   "select",
        "narrow",   "diagonal",   "unbind",  "split",   "split_with_sizes", "chunk",   "movedim",
        "swapaxes", "as_strided", "detach",  "alias",   "contiguous"};
    for (const Node* node = &program_.nodes[ref.id]; node->kind == NodeKind::kOp;
         node = &program_.nodes[ref.id]) {
      const auto refs = TensorArguments(*node);
      const std::string name = PlainName(node->op);
      if (refs.empty() || std::find(std::begin(kViews), std::end(kViews), name) == std::end(kViews)) break;
      if (name == "contiguous" && !IsRowMajor(b_.Get(refs.front()).view)) break;  // copies then
      ref = refs.front();
    }
    return ref.id;
  }

  bool Used(NodeId id, int result) const {
    NodeRef wanted{id, result};
    if (std::count(program_.outputs.begin(), program_.outputs.end(), wanted) > 0) return true;
    for (const Node& node : program_.nodes) {
      auto refs = TensorArguments(node);
      if (std::count(refs.begin(), refs.end(), wanted) > 0) return true;
    }
    return false;
  }

  Value Source(NodeId id) {
    const Node& node = program_.nodes[id];
    Prim prim;
    prim.kind = PrimKind::kSource;
    prim.name = node.name;
    prim.dtype = node.results[0].dtype;
    prim.sizes = node.results[0].sizes;
    prim.node = {id, 0};
    return {b_.graph.Whole(b_.graph.Add(std::move(prim))), node.results[0].dtype};
  }

  bool LowerNode(const Node& node) {
    auto call = BindCall(node);
    if (!call || HasComplex(node)) return false;
    const OpRow* row = call->row;
    const BoundArgs* args = &call->args;
    std::string_view op = row->name;
    b_.origin = PlainName(node.op);
    b_.node = static_cast<NodeId>(&node - program_.nodes.data());
    if (b_.options_.keep_products && IsProduct(*row)) return false;
    switch (row->kind) {
      case OpClass::kPointwise:
        return LowerPointwise(b_, node, *row, *args);
      case OpClass::kLayout:
        return LowerLayout(b_, node, op, *args);
      case OpClass::kReduction:
        return LowerReduction(b_, node, op, *args);
      case OpClass::kNorm:
        return LowerNorm(b_, node, op, *args);
      case OpClass::kMatmul:
        return LowerMatmul(b_, node, op, *args);
      case OpClass::kCreate:
        return LowerCreate(b_, node, op, *args);
      case OpClass::kOther:
        return LowerOther(node, op, *args);
    }
    return false;
  }

  // Kernels have no complex numbers; strict programs have pairs of real ones.
  bool HasComplex(const Node& node) const {
    bool found = false;
    for (const Shape& shape : node.results) found |= IsComplex(shape.dtype);
    for (NodeRef ref : TensorArguments(node))
      found |= IsComplex(program_.nodes[ref.id].results[ref.result].dtype);
    return found;
  }

  static bool IsProduct(const OpRow& row) {
    const auto is = [&](std::string_view start) { return row.name.starts_with(start); };
    return row.kind == OpClass::kMatmul || is("conv") || is("lstm") || is("gru") || is("rnn_");
  }

  bool LowerOther(const Node& node, std::string_view op, const BoundArgs& args) {
    if (op == "glu") {
      Value x = b_.Tensor(args, "self");
      const int64_t dim = AsInt(args["dim"]).value_or(-1),
                    half = node.results[0].sizes[WrapDim(dim, x.view.rank())];
      Value left{Slice(x.view, dim, 0, half, 1), x.dtype}, right{Slice(x.view, dim, half, half, 1), x.dtype};
      const Dtype dtype = ComputeDtype(x.dtype);
      b_.Return({b_.Op("mul", {left, b_.Op("sigmoid", {right}, dtype)}, dtype)});
      return IsFloating(x.dtype);
    }
    if (op == "outer") {
      Value left = b_.Tensor(args, "self"), right = b_.Tensor(args, "vec2");
      left.view = Unsqueeze(left.view, 1);
      b_.Return({b_.Op("mul", {left, right}, ComputeDtype(node.results[0].dtype))});
      return true;
    }
    using Family = bool (*)(Builder&, const Node&, std::string_view, const BoundArgs&);
    constexpr std::pair<std::string_view, Family> kFamilies[] = {
        {"conv", LowerConvolution},  {"avg_pool", LowerPool},    {"max_pool", LowerPool},
        {"adaptive_", LowerPool},    {"upsample_", LowerResize}, {"cum", LowerScan},
        {"logcumsumexp", LowerScan}, {"sort", LowerSort},        {"argsort", LowerSort},
        {"topk", LowerSort},         {"lstm", LowerRecurrent},   {"gru", LowerRecurrent},
        {"rnn_", LowerRecurrent},    {"gather", LowerIndex},     {"scatter", LowerIndex},
        {"index", LowerIndex},       {"embedding", LowerIndex},  {"linalg_", LowerFactor},
        {"_linalg_", LowerFactor},   {"geqrf", LowerFactor},
    };
    for (const auto& [prefix, lower] : kFamilies) {
      if (op.starts_with(prefix)) return lower(b_, node, op, args);
    }
    return LowerMove(b_, node, op, args);
  }

  // Gives each result the dtype that the program says. False when lowering gave fewer results than are used,
  // or shapes other than recorded.
  bool Fits(NodeId id) {
    const Node& node = program_.nodes[id];
    for (size_t r = 0; r < node.results.size(); ++r) {
      if (node.results[r].numel() == 0) {  // such as the statistics that no training needs
        b_.results_.resize(std::max(b_.results_.size(), r + 1));
        b_.results_[r] = Empty(node.results[r]);
        continue;
      }
      if (r >= b_.results_.size()) {
        if (Used(id, static_cast<int>(r))) return false;
        continue;
      }
      Value& value = b_.results_[r];
      if (value.sizes() != node.results[r].sizes) return false;
      if (value.dtype != node.results[r].dtype) value = Store(value, node.results[r].dtype);
    }
    return true;
  }

  // Prims from `first` on that are the node's results.
  void NameResults(NodeId id, size_t first) {
    // A lowering may give more than the program has use for.
    for (size_t r = 0; r < std::min(b_.results_.size(), names_[id].size()); ++r) {
      const PrimId prim = b_.results_[r].view.prim;
      if (prim < static_cast<PrimId>(first)) continue;
      Prim& made = b_.graph.prims[prim];
      if (!made.result.empty()) continue;
      made.result = names_[id][r];
      const View& view = b_.results_[r].view;
      if (view.IsContiguous() && view.numel() == Product(made.sizes)) made.shape = view.sizes;
    }
  }

  // The prims from `first` on share kernels with each other only, and others read the node's results from
  // memory.
  void SetApart(NodeId id, size_t first) {
    std::vector<Prim>& prims = b_.graph.prims;
    for (size_t i = first; i < prims.size(); ++i) prims[i].unit = id;
    for (const Value& value : b_.results_) {
      if (value.view.prim >= static_cast<PrimId>(first) && !prims[value.view.prim].inlined)
        prims[value.view.prim].once = true;
    }
  }

  Value Empty(const Shape& shape) {
    Prim prim;
    prim.kind = PrimKind::kEmpty;
    prim.name = "empty";
    prim.dtype = shape.dtype;
    prim.sizes = shape.sizes;
    return {b_.graph.Whole(b_.graph.Add(std::move(prim))), shape.dtype};
  }

  // What a kernel holds in float32 and a half-typed result needs no step of its own to be stored.
  Value Store(const Value& value, Dtype dtype) {
    if (value.view.prim >= 0) {
      Prim& prim = b_.graph.prims[value.view.prim];
      bool computed = prim.kind == PrimKind::kPointwise || prim.kind == PrimKind::kReduce;
      if (computed && IsFloating(dtype) && prim.dtype == prim.held && prim.held == ComputeDtype(dtype)) {
        prim.dtype = dtype;
        return {value.view, dtype};
      }
    }
    return b_.Cast(value, dtype);
  }

  void Call(NodeId id) {
    const Node& node = program_.nodes[id];
    std::vector<View> operands;
    for (NodeRef ref : TensorArguments(node)) operands.push_back(b_.Get(ref).view);
    b_.results_.clear();
    for (size_t r = 0; r < node.results.size(); ++r) {
      Prim prim;
      prim.kind = PrimKind::kCall;
      prim.name = prim.origin = PlainName(node.op);
      prim.dtype = node.results[r].dtype;
      prim.sizes = node.results[r].sizes;
      prim.operands = operands;
      prim.node = {id, static_cast<int>(r)};
      b_.results_.push_back({b_.graph.Whole(b_.graph.Add(std::move(prim))), node.results[r].dtype});
    }
  }

  const Program& program_;
  const std::vector<std::vector<std::string>> names_;  // of results, by node
  std::vector<NodeRef> outputs_;                       // the program's tensors
  Builder b_;
};

std::optional<Graph> Lower(const Program& program, const LowerOptions& options) {
  return Lowering(program, options).Run();
}

}  // namespace tritogen::teach
