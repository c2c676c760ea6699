// Catalogue rows of matrix products, attention and recurrent networks.
#include "program/catalogue_rows.h"

namespace tritogen {

std::vector<OpRow> MatmulRows() {
  return JoinRows({
      Rows(OpClass::kMatmul,
           {
               {.name = "mm",
                .schemas = {"mm(Tensor self, Tensor mat2) -> Tensor"},
                .shape = rules::Mm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kProduct, 2},
                .torch = "torch.mm",
                .specs = "self: rank 2; mat2: rank 2"},
               {.name = "bmm",
                .schemas = {"bmm(Tensor self, Tensor mat2) -> Tensor"},
                .shape = rules::Bmm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kProduct, 2},
                .torch = "torch.bmm",
                .specs = "self: rank 3; mat2: rank 3"},
               {.name = "matmul",
                .schemas = {"matmul(Tensor self, Tensor other) -> Tensor"},
                .shape = rules::Matmul,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kProduct, 2},
                .torch = "torch.matmul",
                .specs = "other: rank 1..4"},
               {.name = "mv",
                .schemas = {"mv(Tensor self, Tensor vec) -> Tensor"},
                .shape = rules::Mv,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kProduct, 2},
                .torch = "torch.mv",
                .specs = "self: rank 2; vec: rank 1"},
               {.name = "dot",
                .schemas = {"dot(Tensor self, Tensor tensor) -> Tensor"},
                .shape = rules::Dot,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kProduct, 2},
                .torch = "torch.dot",
                .specs = "self: rank 1; tensor: rank 1"},
           }),
      Rows(OpClass::kOther,
           {
               {.name = "outer",
                .schemas = {"outer(Tensor self, Tensor vec2) -> Tensor"},
                .shape = rules::Outer,
                .flops = {FlopCount::kResults, 1},
                .torch = "torch.outer",
                .specs = "self: rank 1; vec2: rank 1"},
           }),
      Rows(OpClass::kMatmul,
           {
               {.name = "linear",
                .schemas = {"linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"},
                .shape = rules::Linear,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kProduct, 2},
                .torch = "torch.nn.functional.linear",
                .specs = "weight: rank 2; bias: rank 1"},
               {.name = "addmm",
                .schemas = {"addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) "
                            "-> Tensor"},
                .shape = rules::Addmm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kProduct, 2},
                .torch = "torch.addmm",
                .specs =
                    "self: rank 1..2; mat1: rank 2; mat2: rank 2; beta: one of 1 | 2; alpha: one of 1 | 3"},
               {.name = "baddbmm",
                .schemas = {"baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
                            "alpha=1) -> Tensor"},
                .shape = rules::Baddbmm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kProduct, 2},
                .torch = "torch.baddbmm",
                .specs = "self: rank 1..3; batch1: rank 3; batch2: rank 3; beta: one of 1 | 2; alpha: one of "
                         "1 | 3"},
               {.name = "scaled_dot_product_attention",
                .schemas = {"scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
                            "attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, "
                            "bool enable_gqa=False) -> Tensor"},
                .shape = rules::Attention,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kAttention, 1},
                .torch = "torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask, "
                         "dropout_p, is_causal, scale, enable_gqa)",
                .specs = "query: rank 3..4; key: rank as query; value: rank as query; attn_mask: rank 2, "
                         "never; is_causal: bool; scale: one of None | 0.5"},
               {.name = "_scaled_dot_product_attention_math",
                .schemas =
                    {"_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? "
                     "attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, "
                     "*, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)"},
                .shape = rules::Attention,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kAttention, 1},
                .specs = "query: rank 4; key: rank as query; value: rank as query; attn_mask: rank 2, never; "
                         "is_causal: bool; dropout_mask: never"},
               {.name = "_scaled_dot_product_flash_attention_for_cpu",
                .schemas = {"_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor "
                            "value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, "
                            "float? scale=None) -> (Tensor output, Tensor logsumexp)"},
                .shape = rules::SquareAttention,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kAttention, 1},
                .specs = "query: rank 4; key: rank 4; value: rank 4; is_causal: bool; attn_mask: never"},
           }),
      Rows(OpClass::kOther,
           {
               {.name = "lstm",
                .schemas = {"lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int "
                            "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
                            "(Tensor, Tensor, Tensor)"},
                .shape = rules::Lstm,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kRecurrent, 2},
                .torch = "torch.lstm",
                .specs =
                    "input: rank 3, float32; hx: list 2, rank 3; params: list 4, ranks 2 2 1 1, -0.1 to 0.1; "
                    "has_biases: one of True; num_layers: one of 1; dropout: one of 0.0; train: one of "
                    "False; bidirectional: one of False; batch_first: bool"},
               {.name = "gru",
                .schemas =
                    {"gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
                     "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)"},
                .shape = rules::Gru,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kRecurrent, 2},
                .torch = "torch.gru",
                .specs = "input: rank 3, float32; hx: rank 3; params: list 4, ranks 2 2 1 1, -0.1 to 0.1; "
                         "has_biases: one "
                         "of True; num_layers: one of 1; dropout: one of 0.0; train: one of False; "
                         "bidirectional: one of False; batch_first: bool"},
               {.name = "rnn_tanh",
                .schemas = {"rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
                            "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
                            "(Tensor, Tensor)"},
                .shape = rules::Gru,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kRecurrent, 2},
                .torch = "torch.rnn_tanh",
                .specs = "input: rank 3, float32; hx: rank 3; params: list 4, ranks 2 2 1 1, -0.1 to 0.1; "
                         "has_biases: one "
                         "of True; num_layers: one of 1; dropout: one of 0.0; train: one of False; "
                         "bidirectional: one of False; batch_first: bool"},
               {.name = "rnn_relu",
                .schemas = {"rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
                            "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
                            "(Tensor, Tensor)"},
                .shape = rules::Gru,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kRecurrent, 2},
                .torch = "torch.rnn_relu",
                .specs = "input: rank 3, float32; hx: rank 3; params: list 4, ranks 2 2 1 1, -0.1 to 0.1; "
                         "has_biases: one "
                         "of True; num_layers: one of 1; dropout: one of 0.0; train: one of False; "
                         "bidirectional: one of False; batch_first: bool"},
           }),
  });
}

}  // namespace tritogen
