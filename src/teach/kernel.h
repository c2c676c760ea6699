// One generated kernel, and the ways to write it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "teach/partition.h"

namespace tritogen::teach {

// What is left open by the partition. A strategy is one setting of these.
struct KernelOptions {
  int64_t flat_block = 1024;
  bool flat_rows = false;  // pointwise kernels over rows × columns of the last dimension
  // For who learns from it: masks at the ends of blocks and rows, needed or not, and sorts by the language.
  bool simple = false;
  int64_t rows_per_program = 0;                // 0: by the row's length
  bool row_loop = false;                       // walk along every row instead of holding it
  int64_t row_block = 0;                       // columns at a time when walking; 0: by the row's length
  int64_t tile_m = 0, tile_n = 0, tile_k = 0;  // 0: by the product's size
  std::string precision;     // of float32 dots: "ieee", "tf32x3", "tf32"; "": by who multiplies
  bool one_sum = false;      // products of parts are not made of sums of sums
  int num_warps = 0;         // 0: by the tile
  bool persistent = false;   // fewer programs than blocks, each takes several in turn
  bool descriptors = false;  // products read their operands by tensor descriptors where they can
  // Of half types that do: as many programs as a GPU has at once, each takes tiles of the result in turn.
  bool persistent_products = false;
};

struct KernelCode {
  std::string name;
  std::string source;            // the decorated function, behind those that it calls
  std::vector<PrimId> pointers;  // its tensor arguments, in order
  std::string grid;              // programs, as they come about: "triton.cdiv(65536, 1024)"
  // Pointers that are tensor descriptors: where they stand in `pointers`, shape of the tensor and of a block.
  struct Descriptor {
    size_t at;
    std::string shape, block;
  };
  std::vector<Descriptor> descriptors;
  // Launched once for each number below this, which is then the argument behind the pointers; 0: once.
  int64_t waves = 0;
  std::string constants;              // "N=512, BLOCK=1024"; keyword arguments of the launch
  int num_warps = 4, num_stages = 0;  // stages: 0 for Triton's default
  size_t divisions = 0;               // different ones that addresses take, but for shifts
  bool divides_lines = false;         // remainders among them that neighbours in memory differ in
  // In words, for the plan.
  std::string access, launch, compute;
};

// `buffers`: the name of every value in memory, by prim. REQUIRES: group.kind is not kCall.
KernelCode WriteKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                       const KernelOptions& options, const std::string& name);

// Its kinds.
KernelCode WriteFlatKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                           const KernelOptions& options, const std::string& name);
// Pointwise work and windows some of whose results lie in another order than the rest, or windows in lines.
// `group`: of InTiles or WindowLines.
KernelCode WriteTileKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                           const std::string& name);
// A group with such results, its elements as rows (kRow) and columns (kColumn; of windows kN): neighbours in
// memory follow each other along the rows for these results, along the columns for the rest. Nothing for
// other groups.
std::optional<Group> InTiles(const Graph& graph, const Group& group);
// A group of windows that are better read in tiles of lines: a line, along the last dimension, as columns
// (kN), all lines as rows (kRow). Nothing for other groups.
std::optional<Group> WindowLines(const Graph& graph, const Group& group);
KernelCode WriteRowKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                          const KernelOptions& options, const std::string& name);
KernelCode WriteMatmulKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                             const KernelOptions& options, const std::string& name);
KernelCode WriteAttentionKernel(const Graph& graph, const Group& group,
                                const std::vector<std::string>& buffers, const KernelOptions& options,
                                const std::string& name);
KernelCode WriteSideBySideKernel(const Graph& graph, const Group& group,
                                 const std::vector<std::string>& buffers, const KernelOptions& options,
                                 const std::string& name);
// Whether a program's registers hold the weights that a recurrent layer's state is multiplied by. Otherwise
// it reads them again at each step.
bool HoldsWeights(std::string_view cell, int64_t size);
KernelCode WriteRecurrentKernel(const Graph& graph, const Group& group,
                                const std::vector<std::string>& buffers, const KernelOptions& options,
                                const std::string& name);
KernelCode WriteWaveKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                           const std::string& name);

KernelCode WriteFactorKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                             const std::string& name);

// How many programs share `size`, which `text` says as Python, in blocks: one for each block, or, for a
// persistent kernel, one for two, and no more than a GPU has at once.
std::string GridText(int64_t size, const std::string& text, int64_t block, bool persistent);
int64_t NextPowerOf2(int64_t n);
// Of float32 dots; `product`: of TF32 or not.
std::string PrecisionOf(const Prim& product, const KernelOptions& options, const char* otherwise = "ieee");
// Rows or columns of a tile of a dot: as many as wished, fewer where there are not so many, 16 at the least.
int64_t Fit(int64_t wished, int64_t size);

}  // namespace tritogen::teach
