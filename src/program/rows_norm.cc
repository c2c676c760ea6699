// Catalogue rows of norms and losses.
#include "program/catalogue_rows.h"

namespace tritogen {

std::vector<OpRow> NormRows() {
  return JoinRows({
      Rows(OpClass::kNorm,
           {
               {.name = "_softmax",
                .schemas = {"_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"},
                .shape = rules::Same,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 5},
                .specs = "dim: axis; half_to_float: one of False"},
               {.name = "_log_softmax",
                .schemas = {"_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"},
                .shape = rules::Same,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 5},
                .specs = "dim: axis; half_to_float: one of False"},
               {.name = "_safe_softmax",
                .schemas = {"_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"},
                .shape = rules::Same,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 6},
                .specs = "dim: axis"},
               {.name = "softmax",
                .schemas = {"softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"},
                .shape = rules::Same,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.softmax",
                .specs = "dim: axis"},
               {.name = "log_softmax",
                .schemas = {"log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"},
                .shape = rules::Same,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.log_softmax",
                .specs = "dim: axis"},
               {.name = "layer_norm",
                .schemas = {"layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? "
                            "bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor"},
                .shape = rules::LayerNorm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .torch = "torch.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps)",
                .specs = "input: rank 1..4; normalized_shape: items 1..2, 1..4096; weight: rank as "
                         "normalized_shape; bias: rank as normalized_shape"},
               {.name = "native_layer_norm",
                .schemas = {"native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? "
                            "bias, float eps) -> (Tensor, Tensor, Tensor)"},
                .shape = rules::LayerNorm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .specs = "input: rank 1..4, float32; normalized_shape: items 1..2, 1..4096; weight: rank as "
                         "normalized_shape; bias: rank as normalized_shape; eps: one of 1e-05"},
               {.name = "rms_norm",
                .schemas = {"rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? "
                            "eps=None) -> Tensor"},
                .shape = rules::LayerNorm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .torch = "torch.nn.functional.rms_norm(input, normalized_shape, weight, eps)",
                .specs = "input: rank 1..4; normalized_shape: items 1..2, 1..4096; weight: rank as "
                         "normalized_shape; eps: one of 1e-05 | None"},
               {.name = "_fused_rms_norm",
                .schemas = {"_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? "
                            "eps) -> (Tensor, Tensor)"},
                .shape = rules::LayerNorm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .specs = "input: rank 1..4, float32; normalized_shape: items 1..2, 1..4096; weight: rank as "
                         "normalized_shape; eps: one of 1e-05"},
               {.name = "group_norm",
                .schemas = {"group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? "
                            "bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor"},
                .shape = rules::GroupNorm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .torch = "torch.nn.functional.group_norm(input, num_groups, weight, bias, eps)",
                .specs = "input: rank 2..5; num_groups: 1..4; weight: rank 1; bias: rank 1"},
               {.name = "native_group_norm",
                .schemas = {"native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int "
                            "HxW, int group, float eps) -> (Tensor, Tensor, Tensor)"},
                .shape = rules::NativeGroupNorm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .specs = "input: rank 3..4, float32; weight: rank 1; bias: rank 1; N: 1..4; C: 1..8; HxW: "
                         "1..16; group: 1..4; eps: one of 1e-05"},
               {.name = "batch_norm",
                .schemas =
                    {"batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
                     "running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor"},
                .shape = rules::BatchNorm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .torch = "torch.nn.functional.batch_norm(input, running_mean, running_var, weight, bias, "
                         "training, momentum, eps; cudnn_enabled=False)",
                .specs = "input: rank 2..5; weight: rank 1; bias: rank 1; running_mean: rank 1, always; "
                         "running_var: rank 1, >= 0.1, always; training: bool; momentum: one of 0.1; eps: "
                         "one of 1e-05; cudnn_enabled: one of False"},
               {.name = "native_batch_norm",
                .schemas = {"native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
                            "running_mean, Tensor? running_var, bool training, float momentum, float eps) -> "
                            "(Tensor, Tensor, Tensor)"},
                .shape = rules::BatchNormAlone,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .specs = "input: rank 2..5; weight: rank 1; bias: rank 1; running_mean: rank 1, always; "
                         "running_var: rank 1, >= 0.1, always; training: one of False; momentum: one of 0.1; "
                         "eps: one of 1e-05"},
               {.name = "_native_batch_norm_legit",
                .schemas = {"_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor "
                            "running_mean, Tensor running_var, bool training, float momentum, float eps) -> "
                            "(Tensor, Tensor, Tensor)"},
                .shape = rules::BatchNormAlone,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .specs = "input: rank 2..5; weight: rank 1; bias: rank 1; running_mean: rank 1, always; "
                         "running_var: rank 1, >= 0.1, always; training: one of False; momentum: one of 0.1; "
                         "eps: one of 1e-05"},
               {.name = "_native_batch_norm_legit.no_stats",
                .schemas = {"_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, "
                            "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"},
                .shape = rules::BatchNormAlone,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .specs = "input: rank 2..5; weight: rank 1; bias: rank 1; training: one of True; momentum: "
                         "one of 0.1; eps: one of 1e-05"},
               {.name = "_native_batch_norm_legit_no_training",
                .schemas = {"_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? "
                            "bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
                            "(Tensor, Tensor, Tensor)"},
                .shape = rules::BatchNormAlone,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .specs = "input: rank 2..5; weight: rank 1; bias: rank 1; running_mean: rank 1, always; "
                         "running_var: rank 1, >= 0.1, always; momentum: one of 0.1; eps: one of 1e-05"},
               {.name = "_native_batch_norm_legit_functional",
                .schemas =
                    {"_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
                     "running_mean, Tensor running_var, bool training, float momentum, float eps) -> "
                     "(Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)"},
                .shape = rules::BatchNormAlone,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .specs = "input: rank 2..5; weight: rank 1; bias: rank 1; running_mean: rank 1, always; "
                         "running_var: rank 1, >= 0.1, always; training: one of False; momentum: one of 0.1; "
                         "eps: one of 1e-05"},
               {.name = "instance_norm",
                .schemas = {"instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
                            "Tensor? running_var, bool use_input_stats, float momentum, float eps, bool "
                            "cudnn_enabled) -> Tensor"},
                .shape = rules::InstanceNorm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 8},
                .torch = "torch.nn.functional.instance_norm(input, running_mean, running_var, weight, bias, "
                         "use_input_stats, momentum, eps; cudnn_enabled=False)",
                .specs = "input: rank 3..5; weight: rank 1; bias: rank 1; running_mean: rank 1, never; "
                         "running_var: rank 1, never; use_input_stats: one of True; momentum: one of 0.1; "
                         "eps: one of 1e-05; cudnn_enabled: one of False"},
               {.name = "nll_loss_forward",
                .schemas = {"nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int "
                            "ignore_index) -> (Tensor output, Tensor total_weight)"},
                .shape = rules::NllForward,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 5},
                .specs = "self: rank 2, float32; target: rank 1, index of self; weight: rank 1; reduction: "
                         "one of 0 | 1 | 2; ignore_index: one of -100"},
               {.name = "nll_loss_nd",
                .schemas = {"nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
                            "int ignore_index=-100) -> Tensor"},
                .shape = rules::CrossEntropy,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.nn.functional.nll_loss(input=self, target, weight, ignore_index, reduction)",
                .specs = "self: rank 2..4, float32; target: rank one less than self, class of self; weight: "
                         "rank 1, never; reduction: one of 0 | 1 | 2"},
               {.name = "cross_entropy_loss",
                .schemas = {"cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int "
                            "reduction=1, int ignore_index=-100, float label_smoothing=0.) -> Tensor"},
                .shape = rules::CrossEntropy,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.nn.functional.cross_entropy(input=self, target, weight, ignore_index, "
                         "reduction, label_smoothing)",
                .specs = "self: rank 2..4; target: rank one less than self, class of self; weight: rank 1, "
                         "never; reduction: one of 0 | 1 | 2; label_smoothing: one of 0.0 | 0.1"},
               {.name = "mse_loss",
                .schemas = {"mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"},
                .shape = rules::ElementLoss,
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.nn.functional.mse_loss(input=self, target, reduction)",
                .specs = "target: rank as self; reduction: one of 0 | 1 | 2"},
               {.name = "l1_loss",
                .schemas = {"l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"},
                .shape = rules::ElementLoss,
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.nn.functional.l1_loss(input=self, target, reduction)",
                .specs = "target: rank as self; reduction: one of 0 | 1 | 2"},
               {.name = "smooth_l1_loss",
                .schemas =
                    {"smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor"},
                .shape = rules::ElementLoss,
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.nn.functional.smooth_l1_loss(input=self, target, reduction, beta)",
                .specs = "target: rank as self; reduction: one of 0 | 1 | 2; beta: one of 1.0 | 0.5"},
               {.name = "huber_loss",
                .schemas =
                    {"huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor"},
                .shape = rules::ElementLoss,
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.nn.functional.huber_loss(input=self, target, reduction, delta)",
                .specs = "target: rank as self; reduction: one of 0 | 1 | 2; delta: one of 1.0 | 0.5"},
               {.name = "kl_div",
                .schemas = {"kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) "
                            "-> Tensor"},
                .shape = rules::ElementLoss,
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.nn.functional.kl_div(input=self, target, reduction, log_target)",
                .specs = "self: -8 to 0; target: rank as self, 0.01 to 1; reduction: one of 0 | 1 | 2; "
                         "log_target: bool"},
               {.name = "binary_cross_entropy",
                .schemas = {"binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int "
                            "reduction=1) -> Tensor"},
                .shape = rules::EqualLoss,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.nn.functional.binary_cross_entropy(input=self, target, weight, reduction)",
                .specs = "self: 0.01 to 0.99, float32; target: rank as self, 0 to 1; weight: never; "
                         "reduction: one of 0 | 1 | 2"},
               {.name = "binary_cross_entropy_with_logits",
                .schemas = {"binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? "
                            "weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor"},
                .shape = rules::EqualLoss,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.nn.functional.binary_cross_entropy_with_logits(input=self, target, weight, "
                         "pos_weight, reduction)",
                .specs = "target: rank as self, 0 to 1; weight: never; pos_weight: never; reduction: one of "
                         "0 | 1 | 2"},
               {.name = "hinge_embedding_loss",
                .schemas = {"hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int "
                            "reduction=1) -> Tensor"},
                .shape = rules::ElementLoss,
                .flops = {FlopCount::kFirst, 5},
                .torch = "torch.nn.functional.hinge_embedding_loss(input=self, target, margin, reduction)",
                .specs =
                    "target: rank as self, unrounded; margin: one of 1.0 | 0.5; reduction: one of 0 | 1 | 2"},
               {.name = "triplet_margin_loss",
                .schemas =
                    {"triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., "
                     "float p=2., float eps=1e-06, bool swap=False, int reduction=1) -> Tensor"},
                .shape = rules::TripletMargin,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 9},
                .torch = "torch.nn.functional.triplet_margin_loss(anchor, positive, negative, margin, p, "
                         "eps, swap, reduction)",
                .specs = "anchor: rank 2; positive: rank as anchor; negative: rank as anchor; margin: one of "
                         "1.0 | 0.5; reduction: one of 0 | 1 | 2"},
               {.name = "cosine_similarity",
                .schemas = {"cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor"},
                .shape = rules::CosineSimilarity,
                .flops = {FlopCount::kFirst, 6},
                .torch = "torch.cosine_similarity(x1, x2, dim, eps)",
                .specs = "x1: rank 1..4; x2: below x1; dim: axis"},
           }),
  });
}

}  // namespace tritogen
