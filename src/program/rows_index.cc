// Catalogue rows of reads and writes by index.
#include "program/catalogue_rows.h"

namespace tritogen {

std::vector<OpRow> IndexRows() {
  return JoinRows({
      Rows(
          OpClass::kOther,
          {
              {.name = "gather",
               .schemas = {"gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor"},
               .shape = rules::Gather,
               .dtypes = {Dtypes::kFirst},
               .selects = true,
               .torch = "torch.gather",
               .specs = "dim: axis; index: rank as self, index of self"},
              {.name = "scatter",
               .schemas = {"scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
                           "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"},
               .shape = rules::Scatter,
               .dtypes = {Dtypes::kFirst},
               .selects = true,
               .torch = "torch.scatter",
               .specs =
                   "dim: axis; index: rank as self, index of self; src: rank as self; value: one of 1.0"},
              {.name = "scatter_add",
               .schemas = {"scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"},
               .shape = rules::Scatter,
               .dtypes = {Dtypes::kFirst},
               .torch = "torch.scatter_add",
               .specs = "dim: axis; index: rank as self, index of self; src: rank as self"},
              {.name = "scatter_reduce",
               .schemas =
                   {"scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
                    "include_self=True) -> Tensor"},
               .shape = rules::Scatter,
               .dtypes = {Dtypes::kFirst},
               .torch = "torch.scatter_reduce",
               .specs = "dim: axis; index: rank as self, index of self; src: rank as self; reduce: one of "
                        "'sum' | 'mean' | 'prod' | 'amax' | 'amin'"},
              {.name = "index_select",
               .schemas = {"index_select(Tensor self, int dim, Tensor index) -> Tensor"},
               .shape = rules::IndexSelect,
               .dtypes = {Dtypes::kFirst},
               .selects = true,
               .torch = "torch.index_select",
               .specs = "dim: axis; index: rank 1, index of self"},
              {.name = "index",
               .schemas = {"index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"},
               .shape = rules::Index,
               .dtypes = {Dtypes::kFirst},
               .selects = true,
               .specs = "indices: list 1, rank 1..2, index of self"},
              {.name = "embedding",
               .schemas = {"embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool "
                           "scale_grad_by_freq=False, bool sparse=False) -> Tensor"},
               .shape = rules::Embedding,
               .dtypes = {Dtypes::kFirst},
               .selects = true,
               .torch = "torch.nn.functional.embedding(input=indices, weight, padding_idx)",
               .specs = "weight: rank 2; indices: rank 1..2, index of weight"},
              {.name = "slice_scatter",
               .schemas = {"slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? "
                           "end=None, int step=1) -> Tensor"},
               .shape = rules::SliceScatter,
               .dtypes = {Dtypes::kFirst},
               .selects = true,
               .torch = "torch.slice_scatter",
               .specs = "src: rank as self; dim: axis; start: one of None | 1; end: one of None | 3"},
              {.name = "select_scatter",
               .schemas = {"select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor"},
               .shape = rules::SelectScatter,
               .dtypes = {Dtypes::kFirst},
               .selects = true,
               .torch = "torch.select_scatter",
               .specs = "self: rank 2..3; src: rank one less than self; dim: axis; index: one of 0 | -1"},
          }),
  });
}

}  // namespace tritogen
