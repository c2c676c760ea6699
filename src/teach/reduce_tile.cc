#include "teach/reduce_tile.h"

#include <fmt/format.h>

#include "teach/count_text.h"
#include "teach/kernel_text.h"

namespace tritogen::teach {
namespace {

bool IsAlongM(const Prim& prim) {
  return prim.reduced[1];
}

AxisKind Along(const Prim& prim) {
  return IsAlongM(prim) ? AxisKind::kM : AxisKind::kN;
}

}  // namespace

void TileReductions::Write(PrimId id, Lines* lines) {
  const Prim& prim = graph_[id];
  const std::string tile = prim.operands.size() > 1 ? SquaredDistances(prim, lines) : Inside(prim);
  const std::string name = code_.NameOf(id),
                    axis = fmt::format("axis={}, keep_dims=True", IsAlongM(prim) ? 0 : 1);
  names_[id] = name;
  if (prim.reduce == ReduceOp::kLogSumExp) {
    const std::string most = code_.NameOf(id, "_max");
    lines->Add(fmt::format("{} = tl.max({}, {})", most, tile, axis));
    lines->Add(fmt::format("{0} = tl.where(tl.abs({0}) == float(\"inf\"), 0.0, {0})", most));
    lines->Add(fmt::format("{0} = {1} + tl.log(tl.sum(tl.exp({2} - {1}), {3}))", name, most, tile, axis));
  } else if (prim.reduce == ReduceOp::kArgMax || prim.reduce == ReduceOp::kArgMin) {
    lines->Add(fmt::format("{} = tl.{}({}, {}) + {}", name,
                           prim.reduce == ReduceOp::kArgMax ? "argmax" : "argmin", tile, axis,
                           IsAlongM(prim) ? "pid_m * BLOCK_M" : "pid_n * BLOCK_N"));
  } else {
    lines->Add(fmt::format("{} = {}", name,
                           ReducedText(prim.reduce, prim.compute[0], tile, IsAlongM(prim) ? 0 : 1, true)));
  }
  const std::string& other = MaskOf(IsAlongM(prim) ? AxisKind::kN : AxisKind::kM);
  lines->Add(fmt::format("tl.store({} + {}, {}{})", code_.Pointer(id), PlaceOf(prim), name,
                         other.empty() ? "" : ", mask=" + other));
}

// The tile; outside the result it counts for nothing.
std::string TileReductions::Inside(const Prim& prim) {
  std::string tile = code_.Read(prim.operands[0], false, prim.compute[0]);
  const std::string& mask = MaskOf(Along(prim));
  if (mask.empty()) return tile;
  return fmt::format("tl.where({}, {}, {})", mask, tile, Neutral(prim.reduce, prim.compute[0]));
}

// From the means of its rows or columns, as far as they are the result's.
std::string TileReductions::SquaredDistances(const Prim& prim, Lines* lines) {
  const std::string& mask = MaskOf(Along(prim));
  const char *size = IsAlongM(prim) ? "M" : "N", *number = IsAlongM(prim) ? "pid_m" : "pid_n",
             *block = IsAlongM(prim) ? "BLOCK_M" : "BLOCK_N";
  const std::string count =
      mask.empty() ? block : fmt::format("min({0} - {1} * {2}, {2})", size, number, block);
  const std::string middle = code_.Name("middle"), distance = code_.Name("distance");
  lines->Add(fmt::format("{} = {} / {}", middle, names_.at(prim.operands[1].prim), count));
  std::string apart = fmt::format("{} - {}", code_.Read(prim.operands[0], false, prim.compute[0]), middle);
  if (!mask.empty()) apart = fmt::format("tl.where({}, {}, 0.0)", mask, apart);
  lines->Add(fmt::format("{} = {}", distance, apart));
  return fmt::format("{0} * {0}", distance);
}

std::string TileReductions::PlaceOf(const Prim& prim) const {
  const bool along_m = IsAlongM(prim), batches = group_.Size(AxisKind::kBatch) > 1;
  const char *line = along_m ? "offs_n" : "offs_m", *tiles = along_m ? "num_m" : "num_n",
             *tile = along_m ? "pid_m" : "pid_n";
  if (prim.by_line) {
    const std::string all = CountOperand(FactorsOf(group_.domain, AxisKind::kBatch));
    return batches ? fmt::format("({} * {} + batch) * {} + {}", line, all, tiles, tile)
                   : fmt::format("{} * {} + {}", line, tiles, tile);
  }
  if (!along_m) return batches ? "(batch * M + offs_m) * num_n + pid_n" : "offs_m * num_n + pid_n";
  return batches ? "(batch * num_m + pid_m) * N + offs_n" : "pid_m * N + offs_n";
}

}  // namespace tritogen::teach
