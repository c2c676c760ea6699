#include "program/canonical.h"

#include <algorithm>
#include <utility>

#include "program/catalogue.h"

namespace tritogen {
namespace {

// Builds the other form's arguments by name.
class Rewrite {
 public:
  Rewrite(Node* node, const BoundArgs& args) : node_(node), args_(args) {}

  Rewrite& Keep(std::initializer_list<const char*> names) {
    for (const char* name : names) to_.Add(name, args_[name]);
    return *this;
  }
  Rewrite& Set(const char* name, Arg value) {
    to_.Add(name, std::move(value));
    return *this;
  }
  // The node becomes this operator, with its first result only.
  void As(const std::string& op) {
    Node made;
    made.op = "aten::" + op;
    for (const auto& [name, value] : to_.all()) made.kwargs.emplace_back(name, value);
    if (!BindCall(made)) return;  // arguments that do not fit stay as they were recorded
    node_->op = made.op;
    node_->args.clear();
    node_->kwargs = std::move(made.kwargs);
    if (node_->results.size() > 1) node_->results.resize(1);
  }

 private:
  Node* node_;
  const BoundArgs& args_;
  BoundArgs to_;
};

bool IsNumber(const Arg& arg, double number) {
  auto value = AsNumber(arg);
  return value && *value == number;
}

void RewriteConvolution(Node* node, const BoundArgs& args) {
  const auto stride = AsInts(args["stride"]);
  if (!stride || stride->empty() || stride->size() > 3) return;
  const std::string rank = std::to_string(stride->size()) + "d";
  Rewrite to(node, args);
  to.Keep({"input", "weight", "bias", "stride", "padding", "dilation", "groups"});
  if (!AsBool(args["transposed"], false)) return to.As("conv" + rank);
  to.Keep({"output_padding"}).As("conv_transpose" + rank + (rank == "1d" ? "" : ".input"));
}

// Forms of one result; each leaves the node alone when its arguments do not fit.
bool RewriteSingle(Node* node, const OpCall& call) {
  const BoundArgs& args = call.args;
  const std::string& name = call.signature->name;
  Rewrite to(node, args);
  // Who computes it (cuDNN or not) is no part of a Program.
  if (name == "batch_norm" || name == "_native_batch_norm_legit" || name == "native_batch_norm") {
    to.Keep({"input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"})
        .Set("cudnn_enabled", Arg{false})
        .As("batch_norm");
  } else if (name == "instance_norm") {
    to.Keep({"input", "weight", "bias", "running_mean", "running_var", "use_input_stats", "momentum", "eps"})
        .Set("cudnn_enabled", Arg{false})
        .As(name);
  } else if (name == "_native_batch_norm_legit_no_training") {
    to.Keep({"input", "weight", "bias", "running_mean", "running_var", "momentum", "eps"})
        .Set("training", Arg{false})
        .Set("cudnn_enabled", Arg{false})
        .As("batch_norm");
  } else if (name == "_native_batch_norm_legit.no_stats") {
    to.Keep({"input", "weight", "bias", "training", "momentum", "eps"})
        .Set("running_mean", {})
        .Set("running_var", {})
        .Set("cudnn_enabled", Arg{false})
        .As("batch_norm");
  } else if (name == "native_layer_norm") {
    to.Keep({"input", "normalized_shape", "weight", "bias", "eps"}).As("layer_norm");
  } else if (name == "native_group_norm") {
    to.Keep({"input", "weight", "bias", "eps"}).Set("num_groups", args["group"]).As("group_norm");
  } else if (name == "native_dropout") {
    to.Keep({"input", "p"}).Set("train", Arg{AsBool(args["train"], true)}).As("dropout");
  } else if (name == "log_sigmoid_forward") {
    to.Keep({"self"}).As("log_sigmoid");
  } else if (name == "max_pool2d_with_indices" || name == "max_pool3d_with_indices") {
    to.Keep({"self", "kernel_size", "stride", "padding", "dilation", "ceil_mode"}).As(name.substr(0, 10));
  } else {
    return false;
  }
  return true;
}

bool IsReshape(const std::string& name) {
  constexpr std::string_view kNames[] = {"view",    "_unsafe_view", "reshape", "flatten.using_ints",
                                         "view_as", "unflatten.int"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

void RewriteName(Node* node, const OpCall& call) {
  const BoundArgs& args = call.args;
  const std::string& name = call.signature->name;
  Rewrite to(node, args);
  if (name == "convolution") {
    RewriteConvolution(node, args);
  } else if (IsReshape(name) && node->results.size() == 1) {
    to.Keep({"self"}).Set("shape", IntsArg(node->results[0].sizes)).As("reshape");
  } else if (name == "_softmax" && !AsBool(args["half_to_float"], false)) {
    to.Keep({"self", "dim"}).As("softmax.int");
  } else if (name == "_log_softmax" && !AsBool(args["half_to_float"], false)) {
    to.Keep({"self", "dim"}).As("log_softmax.int");
  } else if (name == "elu" && IsNumber(args["alpha"], 1.6732632423543772) &&
             IsNumber(args["scale"], 1.0507009873554805) && IsNumber(args["input_scale"], 1)) {
    to.Keep({"self"}).As("selu");
  } else if (name == "hardtanh" && IsNumber(args["min_val"], 0) && IsNumber(args["max_val"], 6)) {
    to.Keep({"self"}).As("relu6");
  } else if (name == "add.Scalar" || name == "sub.Scalar" || name == "rsub.Scalar") {
    to.Keep({"self", "other", "alpha"}).As(name.substr(0, name.find('.')) + ".Tensor");
  } else if (name == "div.Scalar_mode") {
    to.Keep({"self", "other", "rounding_mode"}).As("div.Tensor_mode");
  } else if (name == "norm.ScalarOpt_dim" && AsNumber(args["p"])) {
    to.Keep({"self", "dim", "keepdim"}).Set("ord", args["p"]).As("linalg_vector_norm");
  } else if (name == "mul.Scalar" || name == "div.Scalar") {
    to.Keep({"self", "other"}).As(name.substr(0, 3) + ".Tensor");
  }
}

// x.new_zeros(…) and its like: of x they take the dtype, which the result has.
void RewriteNew(Node* node) {
  constexpr std::pair<std::string_view, const char*> kForms[] = {
      {"aten::new_zeros", "aten::zeros"},
      {"aten::new_ones", "aten::ones"},
      {"aten::new_full", "aten::full"},
      {"aten::new_empty", "aten::empty.memory_format"}};
  for (const auto& [from, to] : kForms) {
    if (node->op != from || node->args.empty() || AsRef(node->args[0]) == nullptr) continue;
    node->op = to;
    node->args.erase(node->args.begin());
    node->kwargs = {{"dtype", Arg{node->results[0].dtype}}};
    return;
  }
}

// Whether the operation has places along a dimension, which then count from its front. The dimension counts
// from the first one, too; slices leave out what they do not cut.
bool CountPlaces(const Program& program, const OpCall& call, BoundArgs* args) {
  const std::string& name = call.signature->name;
  const bool slice = name == "slice.Tensor" || name == "slice_scatter";
  const bool select = name == "select.int" || name == "select_scatter";
  const NodeRef* self = AsRef((*args)["self"]);
  if ((!slice && !select && name != "narrow") || self == nullptr) return false;
  const auto& sizes = program.nodes[self->id].results[self->result].sizes;
  const auto rank = static_cast<int64_t>(sizes.size());
  int64_t dim = AsInt((*args)["dim"]).value_or(0);
  if (dim < -rank || dim >= rank) return false;
  dim = dim < 0 ? dim + rank : dim;
  *args->Find("dim") = Arg{dim};
  for (const char* place : {"index", "start", "end"}) {
    Arg* arg = args->Find(place);
    const auto number = arg == nullptr ? std::nullopt : AsInt(*arg);
    if (number && *number < 0) *arg = Arg{std::max<int64_t>(*number + sizes[dim], 0)};
  }
  if (name != "slice.Tensor") return true;
  if (IsNumber((*args)["start"], 0)) *args->Find("start") = Arg{};
  if (auto end = AsInt((*args)["end"]); end && *end >= sizes[dim]) *args->Find("end") = Arg{};
  return true;
}

std::vector<int> UsedResults(const Program& program) {
  std::vector<int> most(program.nodes.size(), 0);  // the highest result that anybody reads
  auto note = [&](NodeRef ref) {
    if (ref.id >= 0) most[ref.id] = std::max(most[ref.id], ref.result);
  };
  for (const Node& node : program.nodes) ForEachRef(node, note);
  for (NodeRef ref : program.outputs) note(ref);
  return most;
}

}  // namespace

void Canonicalise(Program* program) {
  const std::vector<int> used = UsedResults(*program);
  for (size_t id = 0; id < program->nodes.size(); ++id) {
    Node& node = program->nodes[id];
    if (node.kind != NodeKind::kOp) continue;
    RewriteNew(&node);
    auto call = BindCall(node);
    if (!call) continue;
    if (used[id] > 0 || !RewriteSingle(&node, *call)) RewriteName(&node, *call);
    call = BindCall(node);
    if (!call) continue;
    CountPlaces(*program, *call, &call->args);
    node.op = "aten::" + call->signature->name;
    SetArgs(*call->signature, call->args, &node);
  }
}

void CountFromFront(Program* program) {
  for (Node& node : program->nodes) {
    auto call = node.kind == NodeKind::kOp ? BindCall(node) : std::nullopt;
    if (!call || !CountPlaces(*program, *call, &call->args)) continue;
    SetArgs(*call->signature, call->args, &node);
  }
}

}  // namespace tritogen
