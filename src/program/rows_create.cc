// Catalogue rows of creators.
#include "program/catalogue_rows.h"

namespace tritogen {

std::vector<OpRow> CreateRows() {
  return JoinRows({
      Rows(
          OpClass::kCreate,
          {
              {.name = "full",
               .schemas = {"full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
                           "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"},
               .shape = rules::Create,
               .dtypes = {Dtypes::kCreated},
               .torch = "torch.full",
               .specs = "size: items 0..3, 1..8; dtype: one of None | torch.float16 | torch.int64; "
                        "fill_value: one of 1.5 | 0.0"},
              {.name = "zeros",
               .schemas = {"zeros(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None) -> Tensor"},
               .shape = rules::Create,
               .dtypes = {Dtypes::kCreated},
               .torch = "torch.zeros",
               .specs = "size: items 0..3, 1..8; dtype: one of None | torch.float16 | torch.int64"},
              {.name = "ones",
               .schemas = {"ones(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None) -> Tensor"},
               .shape = rules::Create,
               .dtypes = {Dtypes::kCreated},
               .torch = "torch.ones",
               .specs = "size: items 0..3, 1..8; dtype: one of None | torch.float16 | torch.int64"},
              {.name = "empty",
               .schemas =
                   {"empty.memory_format(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                    "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"},
               .shape = rules::Create,
               .dtypes = {Dtypes::kCreated},
               .torch = "torch.empty",
               .specs = "size: items 0..3, 1..8; dtype: one of None | torch.float16 | torch.int64"},
              {.name = "randn",
               .schemas = {"randn(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None) -> Tensor"},
               .shape = rules::Create,
               .dtypes = {Dtypes::kCreated},
               .torch = "torch.randn",
               .specs = "size: items 0..3, 1..8; dtype: one of None | torch.float16"},
              {.name = "rand",
               .schemas = {"rand(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None) -> Tensor"},
               .shape = rules::Create,
               .dtypes = {Dtypes::kCreated},
               .torch = "torch.rand",
               .specs = "size: items 0..3, 1..8; dtype: one of None | torch.float16"},
              {.name = "arange",
               .schemas =
                   {"arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
                    "bool? pin_memory=None) -> Tensor",
                    "arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
                    "Device? device=None, bool? pin_memory=None) -> Tensor",
                    "arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
                    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"},
               .shape = rules::Range,
               .dtypes = {Dtypes::kCreated},
               .torch = "torch.arange",
               .specs = "start: one of 0 | 2; end: one of 5 | 9; step: one of 1 | 2 | 3; dtype: one of None "
                        "| torch.float32"},
              {.name = "eye",
               .schemas = {"eye(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
                           "bool? pin_memory=None) -> Tensor",
                           "eye.m(int n, int m, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None) -> Tensor"},
               .shape = rules::Eye,
               .dtypes = {Dtypes::kCreated},
               .torch = "torch.eye",
               .specs = "n: 1..6; m: 1..6"},
              {.name = "scalar_tensor",
               .schemas = {"scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None) -> Tensor"},
               .shape = rules::Scalar,
               .dtypes = {Dtypes::kCreated},
               .torch = "torch.scalar_tensor",
               .specs = "s: one of 1.5"},
              {.name = "linspace",
               .schemas = {"linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? "
                           "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"},
               .shape = rules::LinSpace,
               .dtypes = {Dtypes::kCreated},
               .torch = "torch.linspace",
               .specs = "start: one of 0.0; end: one of 1.0; steps: 1..8"},
              {.name = "full_like",
               .schemas = {"full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
                           "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
                           "memory_format=None) -> Tensor"},
               .shape = rules::Same,
               .dtypes = {Dtypes::kFirst},
               .torch = "torch.full_like",
               .specs = "fill_value: one of 1.5"},
              {.name = "rand_like",
               .schemas = {"rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"},
               .shape = rules::Same,
               .dtypes = {Dtypes::kFirst},
               .torch = "torch.rand_like",
               .specs = "self: >= 0"},
              {.name = "randn_like",
               .schemas = {"randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"},
               .shape = rules::Same,
               .dtypes = {Dtypes::kFirst},
               .torch = "torch.randn_like",
               .specs = "self: >= 0"},
              {.name = "zeros_like",
               .schemas = {"zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"},
               .shape = rules::Same,
               .dtypes = {Dtypes::kFirst},
               .torch = "torch.zeros_like",
               .specs = "self: number"},
              {.name = "ones_like",
               .schemas = {"ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"},
               .shape = rules::Same,
               .dtypes = {Dtypes::kFirst},
               .torch = "torch.ones_like",
               .specs = "self: number"},
              {.name = "empty_like",
               .schemas = {"empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                           "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"},
               .shape = rules::Same,
               .dtypes = {Dtypes::kFirst},
               .torch = "torch.empty_like",
               .specs = "self: number"},
          }),
  });
}

}  // namespace tritogen
