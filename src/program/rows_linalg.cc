// Catalogue rows of factors of matrices. Small ones are written out by the recorder where proposers see them
// (src/record/split.cc); operations are those of square matrices of some 64 rows, for each of their elements.
#include "program/catalogue_rows.h"

namespace tritogen {

std::vector<OpRow> FactorRows() {
  return Rows(
      OpClass::kOther,
      {
          {.name = "linalg_cholesky_ex",
           .schemas = {"linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> "
                       "(Tensor L, Tensor info)"},
           .shape = rules::Cholesky,
           .dtypes = {Dtypes::kFirst, Dtypes::kInt32},
           .flops = {FlopCount::kFirst, 21},
           .specs = "self: rank 2..4, float32; upper: bool"},
          {.name = "linalg_lu_factor_ex",
           .schemas =
               {"linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor "
                "LU, Tensor pivots, Tensor info)"},
           .shape = rules::LuFactor,
           .dtypes = {Dtypes::kFirst, Dtypes::kInt32},
           .flops = {FlopCount::kFirst, 42},
           .specs = "A: rank 2..4, float32"},
          {.name = "linalg_lu",
           .schemas = {"linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)"},
           .shape = rules::Lu,
           .dtypes = {Dtypes::kFirst},
           .flops = {FlopCount::kFirst, 42},
           .specs = "A: rank 2..4, float32"},
          {.name = "linalg_solve_triangular",
           .schemas = {"linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
                       "unitriangular=False) -> Tensor"},
           .shape = rules::SolveTriangular,
           .dtypes = {Dtypes::kFirst},
           .flops = {FlopCount::kResults, 64},
           .specs = "self: rank 2..4, float32; B: rank as self, float32; upper: bool; left: bool; "
                    "unitriangular: bool"},
          {.name = "geqrf",
           .schemas = {"geqrf(Tensor self) -> (Tensor a, Tensor tau)"},
           .shape = rules::Reflections,
           .dtypes = {Dtypes::kFirst},
           .flops = {FlopCount::kFirst, 85},
           .specs = "self: rank 2..4, float32"},
          {.name = "_linalg_eigh",
           .schemas = {"_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, "
                       "Tensor eigenvectors)"},
           .shape = rules::Eigen,
           .dtypes = {Dtypes::kFirst},
           .flops = {FlopCount::kFirst, 576},
           .specs = "A: rank 2..4, float32; UPLO: one of 'L' | 'U'; compute_v: bool"},
          {.name = "_linalg_svd",
           .schemas = {"_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? "
                       "driver=None) -> (Tensor U, Tensor S, Tensor Vh)"},
           .shape = rules::SingularValues,
           .dtypes = {Dtypes::kFirst},
           .flops = {FlopCount::kFirst, 1344},
           .specs = "A: rank 2..4, float32; full_matrices: bool; compute_uv: bool"},
      });
}

}  // namespace tritogen
