// Catalogue rows of convolutions, pools and resizing.
#include "program/catalogue_rows.h"

namespace tritogen {

std::vector<OpRow> SpatialRows() {
  return JoinRows({
      Rows(OpClass::kOther,
           {
               {.name = "conv1d",
                .schemas = {"conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], "
                            "int[1] padding=[0], int[1] dilation=[1], int groups=1) -> Tensor"},
                .shape = rules::Conv,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kConvolution, 2},
                .torch = "torch.nn.functional.conv1d",
                .specs = "input: rank 3, float32; weight: rank 3; bias: rank 1; stride: 1..3; padding: 0..2; "
                         "dilation: 1..2; groups: 1..4"},
               {.name = "conv2d",
                .schemas = {"conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=[1, 1], "
                            "int[2] padding=[0, 0], int[2] dilation=[1, 1], int groups=1) -> Tensor"},
                .shape = rules::Conv,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kConvolution, 2},
                .torch = "torch.nn.functional.conv2d",
                .specs = "input: rank 4, float32; weight: rank 4; bias: rank 1; stride: 1..3; padding: 0..2; "
                         "dilation: 1..2; groups: 1..4"},
               {.name = "conv3d",
                .schemas = {"conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=[1, 1, 1], "
                            "int[3] padding=[0, 0, 0], int[3] dilation=[1, 1, 1], int groups=1) -> Tensor"},
                .shape = rules::Conv,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kConvolution, 2},
                .torch = "torch.nn.functional.conv3d",
                .specs = "input: rank 5, float32; weight: rank 5; bias: rank 1; stride: 1..3; padding: 0..2; "
                         "dilation: 1..2; groups: 1..4"},
               {.name = "conv_transpose1d",
                .schemas = {"conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] "
                            "stride=[1], int[1] padding=[0], int[1] output_padding=[0], int groups=1, int[1] "
                            "dilation=[1]) -> Tensor"},
                .shape = rules::ConvTranspose,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kConvolution, 2},
                .torch = "torch.nn.functional.conv_transpose1d",
                .specs = "input: rank 3, float32; weight: rank 3; bias: rank 1; stride: 1..3; padding: 0..2; "
                         "output_padding: 0..1; dilation: 1..2; groups: 1..4"},
               {.name = "conv_transpose2d",
                .schemas = {"conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, int[2] "
                            "stride=[1, 1], int[2] padding=[0, 0], int[2] output_padding=[0, 0], int "
                            "groups=1, int[2] dilation=[1, 1]) -> Tensor"},
                .shape = rules::ConvTranspose,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kConvolution, 2},
                .torch = "torch.nn.functional.conv_transpose2d",
                .specs = "input: rank 4, float32; weight: rank 4; bias: rank 1; stride: 1..3; padding: 0..2; "
                         "output_padding: 0..1; dilation: 1..2; groups: 1..4"},
               {.name = "conv_transpose3d",
                .schemas = {"conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, int[3] "
                            "stride=[1, 1, 1], int[3] padding=[0, 0, 0], int[3] output_padding=[0, 0, 0], "
                            "int groups=1, int[3] dilation=[1, 1, 1]) -> Tensor"},
                .shape = rules::ConvTranspose,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kConvolution, 2},
                .torch = "torch.nn.functional.conv_transpose3d",
                .specs = "input: rank 5, float32; weight: rank 5; bias: rank 1; stride: 1..3; padding: 0..2; "
                         "output_padding: 0..1; dilation: 1..2; groups: 1..4"},
               {.name = "convolution",
                .schemas =
                    {"convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
                     "int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor"},
                .shape = rules::Convolution,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kConvolution, 2},
                .torch = "torch.convolution",
                .specs = "input: rank 4, float32; weight: rank 4; bias: rank 1; stride: items 2, 1..3; "
                         "padding: items 2, 0..2; dilation: items 2, 1..2; transposed: bool; output_padding: "
                         "one of [0, 0]; groups: 1..4"},
               {.name = "avg_pool1d",
                .schemas = {"avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
                            "padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor"},
                .shape = rules::Pool,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 1},
                .torch = "torch.nn.functional.avg_pool1d",
                .specs = "self: rank 2..3, float32; kernel_size: 1..4; stride: 1..3; padding: 0..2; "
                         "ceil_mode: bool; count_include_pad: bool"},
               {.name = "avg_pool2d",
                .schemas =
                    {"avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
                     "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"},
                .shape = rules::Pool,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 1},
                .torch = "torch.nn.functional.avg_pool2d",
                .specs = "self: rank 3..4, float32; kernel_size: 1..4; stride: 1..3; padding: 0..2; "
                         "ceil_mode: bool; count_include_pad: bool"},
               {.name = "avg_pool3d",
                .schemas =
                    {"avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
                     "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"},
                .shape = rules::Pool,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 1},
                .torch = "torch.nn.functional.avg_pool3d",
                .specs = "self: rank 4..5, float32; kernel_size: 1..4; stride: 1..3; padding: 0..2; "
                         "ceil_mode: bool; count_include_pad: bool"},
               {.name = "max_pool1d",
                .schemas = {"max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
                            "padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor"},
                .shape = rules::Pool,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 1},
                .selects = true,
                .torch = "torch.nn.functional.max_pool1d",
                .specs = "self: rank 2..3, float32; kernel_size: 1..4; stride: 1..3; padding: 0..2; "
                         "dilation: 1..2; ceil_mode: bool"},
               {.name = "max_pool2d",
                .schemas = {"max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
                            "int[2] dilation=1, bool ceil_mode=False) -> Tensor"},
                .shape = rules::Pool,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 1},
                .selects = true,
                .torch = "torch.nn.functional.max_pool2d",
                .specs = "self: rank 3..4, float32; kernel_size: 1..4; stride: 1..3; padding: 0..2; "
                         "dilation: 1..2; ceil_mode: bool"},
               {.name = "max_pool3d",
                .schemas = {"max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
                            "int[3] dilation=1, bool ceil_mode=False) -> Tensor"},
                .shape = rules::Pool,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 1},
                .selects = true,
                .torch = "torch.nn.functional.max_pool3d",
                .specs = "self: rank 4..5, float32; kernel_size: 1..4; stride: 1..3; padding: 0..2; "
                         "dilation: 1..2; ceil_mode: bool"},
               {.name = "max_pool2d_with_indices",
                .schemas = {"max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
                            "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"},
                .shape = rules::PoolTwice,
                .dtypes = {Dtypes::kFirst, Dtypes::kIndex},
                .flops = {FlopCount::kFirst, 1},
                .specs = "self: rank 3..4, float32; kernel_size: 1..4; stride: 1..3; padding: 0..2; "
                         "dilation: 1..2; ceil_mode: bool"},
               {.name = "max_pool3d_with_indices",
                .schemas = {"max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "
                            "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"},
                .shape = rules::PoolTwice,
                .dtypes = {Dtypes::kFirst, Dtypes::kIndex},
                .flops = {FlopCount::kFirst, 1},
                .specs = "self: rank 4..5, float32; kernel_size: 1..4; stride: 1..3; padding: 0..2; "
                         "dilation: 1..2; ceil_mode: bool"},
               {.name = "adaptive_avg_pool1d",
                .schemas = {"adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor"},
                .shape = rules::AdaptivePool,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 1},
                .torch = "torch.nn.functional.adaptive_avg_pool1d",
                .specs = "self: rank 2..3, float32; output_size: 1..4"},
               {.name = "adaptive_avg_pool2d",
                .schemas = {"adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor"},
                .shape = rules::AdaptivePool,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 1},
                .torch = "torch.nn.functional.adaptive_avg_pool2d",
                .specs = "self: rank 3..4, float32; output_size: 1..4"},
               {.name = "adaptive_avg_pool3d",
                .schemas = {"adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor"},
                .shape = rules::AdaptivePool,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kFirst, 1},
                .torch = "torch.nn.functional.adaptive_avg_pool3d",
                .specs = "self: rank 4..5, float32; output_size: 1..4"},
               {.name = "adaptive_max_pool1d",
                .schemas = {"adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)"},
                .shape = rules::AdaptivePoolTwice,
                .dtypes = {Dtypes::kFirst, Dtypes::kIndex},
                .flops = {FlopCount::kFirst, 1},
                .selects = true,
                .specs = "self: rank 2..3, float32; output_size: 1..4"},
               {.name = "adaptive_max_pool2d",
                .schemas = {"adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)"},
                .shape = rules::AdaptivePoolTwice,
                .dtypes = {Dtypes::kFirst, Dtypes::kIndex},
                .flops = {FlopCount::kFirst, 1},
                .selects = true,
                .specs = "self: rank 3..4, float32; output_size: 1..4"},
               {.name = "adaptive_max_pool3d",
                .schemas = {"adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)"},
                .shape = rules::AdaptivePoolTwice,
                .dtypes = {Dtypes::kFirst, Dtypes::kIndex},
                .flops = {FlopCount::kFirst, 1},
                .selects = true,
                .specs = "self: rank 4..5, float32; output_size: 1..4"},
               {.name = "upsample_nearest1d",
                .schemas =
                    {"upsample_nearest1d(Tensor self, int[1] output_size, float? scales=None) -> Tensor"},
                .shape = rules::Upsample,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kResults, 1},
                .selects = true,
                .torch = "torch.nn.functional.interpolate(input=self, size=output_size, mode='nearest')",
                .specs = "self: rank 3, float32; output_size: 1..8"},
               {.name = "upsample_nearest2d",
                .schemas = {"upsample_nearest2d(Tensor self, int[2] output_size, float? scales_h=None, "
                            "float? scales_w=None) -> Tensor"},
                .shape = rules::Upsample,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kResults, 1},
                .selects = true,
                .torch = "torch.nn.functional.interpolate(input=self, size=output_size, mode='nearest')",
                .specs = "self: rank 4, float32; output_size: 1..8"},
               {.name = "upsample_nearest3d",
                .schemas = {"upsample_nearest3d(Tensor self, int[3] output_size, float? scales_d=None, "
                            "float? scales_h=None, float? scales_w=None) -> Tensor"},
                .shape = rules::Upsample,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kResults, 1},
                .selects = true,
                .torch = "torch.nn.functional.interpolate(input=self, size=output_size, mode='nearest')",
                .specs = "self: rank 5, float32; output_size: 1..8"},
               {.name = "upsample_linear1d",
                .schemas = {"upsample_linear1d(Tensor self, int[1] output_size, bool align_corners, float? "
                            "scales=None) -> Tensor"},
                .shape = rules::Upsample,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kResults, 4},
                .torch = "torch.nn.functional.interpolate(input=self, size=output_size, mode='linear', "
                         "align_corners)",
                .specs = "self: rank 3, float32; output_size: 1..8; align_corners: bool"},
               {.name = "upsample_bilinear2d",
                .schemas = {"upsample_bilinear2d(Tensor self, int[2] output_size, bool align_corners, float? "
                            "scales_h=None, float? scales_w=None) -> Tensor"},
                .shape = rules::Upsample,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kResults, 4},
                .torch = "torch.nn.functional.interpolate(input=self, size=output_size, mode='bilinear', "
                         "align_corners)",
                .specs = "self: rank 4, float32; output_size: 1..8; align_corners: bool"},
               {.name = "upsample_trilinear3d",
                .schemas = {"upsample_trilinear3d(Tensor self, int[3] output_size, bool align_corners, "
                            "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"},
                .shape = rules::Upsample,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kResults, 8},
                .torch = "torch.nn.functional.interpolate(input=self, size=output_size, mode='trilinear', "
                         "align_corners)",
                .specs = "self: rank 5, float32; output_size: 1..8; align_corners: bool"},
               {.name = "upsample_bicubic2d",
                .schemas = {"upsample_bicubic2d(Tensor self, int[2] output_size, bool align_corners, float? "
                            "scales_h=None, float? scales_w=None) -> Tensor"},
                .shape = rules::Upsample,
                .dtypes = {Dtypes::kFirst},
                .flops = {FlopCount::kResults, 4},
                .torch = "torch.nn.functional.interpolate(input=self, size=output_size, mode='bicubic', "
                         "align_corners)",
                .specs = "self: rank 4, float32; output_size: 1..8; align_corners: bool"},
               {.name = "pixel_shuffle",
                .schemas = {"pixel_shuffle(Tensor self, int upscale_factor) -> Tensor"},
                .shape = rules::PixelShuffle,
                .dtypes = {Dtypes::kFirst},
                .selects = true,
                .torch = "torch.pixel_shuffle",
                .specs = "self: rank 3..5; upscale_factor: 1..3"},
               {.name = "pixel_unshuffle",
                .schemas = {"pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor"},
                .shape = rules::PixelUnshuffle,
                .dtypes = {Dtypes::kFirst},
                .selects = true,
                .torch = "torch.pixel_unshuffle",
                .specs = "self: rank 3..5; downscale_factor: 1..3"},
           }),
  });
}

}  // namespace tritogen
