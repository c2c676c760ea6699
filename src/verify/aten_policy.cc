#include "verify/aten_policy.h"

#include <ATen/core/jit_type.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "verify/work_ops.h"

namespace tritogen {
namespace {

// Private operators that recording meets: what public ones decompose into. Prefixes end in '*'.
constexpr std::string_view kPrivateAllowed[] = {"__and__",
                                                "__or__",
                                                "__xor__",
                                                "__lshift__",
                                                "__rshift__",
                                                "__iand__",
                                                "__ior__",
                                                "__ixor__",
                                                "__ilshift__",
                                                "__irshift__",
                                                "_adaptive_avg_pool2d",
                                                "_adaptive_avg_pool3d",
                                                "_add_relu",
                                                "_addmm_activation",
                                                "_aminmax",
                                                "_batch_norm_impl_index",
                                                "_batch_norm_no_update",
                                                "_batch_norm_with_update",
                                                "_batch_norm_with_update_functional",
                                                "_cdist_forward",
                                                "_conj_physical",
                                                "_conv_depthwise2d",
                                                "_convolution",
                                                "_convolution_mode",
                                                "_embedding_bag",
                                                "_embedding_bag_forward_only",
                                                "_euclidean_dist",
                                                "_fft_c2c",
                                                "_fft_c2r",
                                                "_fft_r2c",
                                                "_foreach_*",
                                                "_fused_dropout",
                                                "_fused_rms_norm",
                                                "_grouped_mm",
                                                "_int_mm",
                                                "_linalg_*",
                                                "_log_softmax",
                                                "_logcumsumexp",
                                                "_masked_softmax",
                                                "_native_batch_norm_legit*",
                                                "_pad_circular",
                                                "_pad_enum",
                                                "_pdist_forward",
                                                "_prelu_kernel",
                                                "_reshape_alias",
                                                "_reshape_copy",
                                                "_safe_softmax",
                                                "_scaled_dot_product_*",
                                                "_scaled_mm",
                                                "_softmax",
                                                "_stack",
                                                "_standard_gamma",
                                                "_to_copy",
                                                "_trilinear",
                                                "_unsafe_view",
                                                "_upsample_*",
                                                "_weight_norm",
                                                "_weight_norm_interface"};

// Public operators that are no mathematics on strided tensors.
constexpr std::string_view kPublicDenied[] = {
    "align_*", "choose_qparams*", "conj",       "data",        "dequantize", "fbgemm_*",      "from_file",
    "lift",    "mkldnn_*",        "pin_memory", "q_*",         "quantize*",  "record_stream", "refine_names",
    "rename*", "requires_grad_",  "resize*",    "retain_grad", "set",        "set_*",         "sparse_*",
    "sym_*",   "to_mkldnn*",      "to_sparse*"};

template <size_t n>
bool Matches(std::string_view name, const std::string_view (&list)[n]) {
  return std::any_of(list, list + n, [&](std::string_view entry) {
    if (!entry.ends_with('*')) return name == entry;
    entry.remove_suffix(1);
    return name.starts_with(entry);
  });
}

// Operators of autograd believe what the forward pass is said to have left them: indices, statistics, sizes.
// Those that compute element by element have nothing of the kind; `istft` adds frames by unfold's, whose
// sizes aten_bounds.cc checks.
bool IsUncheckedBackward(const c10::FunctionSchema& schema, std::string_view name) {
  return name.find("_backward") != name.npos && name != "unfold_backward" &&
         !TraitsOf(schema.name()).pointwise &&
         !TraitsOf(schema.name() + "." + schema.overload_name()).pointwise;
}

bool IsExpressible(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::OptionalType:
      return IsExpressible(*type.castRaw<c10::OptionalType>()->getElementType());
    case c10::TypeKind::ListType:
      return IsExpressible(*type.castRaw<c10::ListType>()->getElementType());
    case c10::TypeKind::TensorType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::SymFloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymBoolType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
    case c10::TypeKind::GeneratorType:
      return true;
    default:
      return false;
  }
}

bool IsTensorLike(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::ListType)
    return IsTensorLike(*type.castRaw<c10::ListType>()->getElementType());
  return type.kind() == c10::TypeKind::TensorType;
}

}  // namespace

std::string RefusalOf(const c10::FunctionSchema& schema) {
  std::string_view name = schema.name();
  if (!name.starts_with("aten::")) return "only operators of the namespace aten may be called";
  name.remove_prefix(6);
  if (name.starts_with('_') && !Matches(name, kPrivateAllowed))
    return "it is not one of the private operators allowed";
  if (name.ends_with("_for_cpu")) return "it is one of the private operators of CPUs, which check no sizes";
  if (Matches(name, kPublicDenied)) return "it does more than compute on tensors";
  if (IsUncheckedBackward(schema, name)) return "it is a step of autograd's, which checks no sizes";
  for (const c10::Argument& argument : schema.arguments()) {
    if (!IsExpressible(*argument.real_type())) {
      return fmt::format("a Plan cannot express its argument '{}'", argument.name());
    }
  }
  for (const c10::Argument& result : schema.returns()) {
    if (!IsTensorLike(*result.real_type())) return "it reads a value on the host";
  }
  return "";
}

}  // namespace tritogen
