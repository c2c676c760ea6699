#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/rounding.h"
#include "teach/count_text.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"

namespace tritogen::teach {

void AddFlatBlock(const Group& group, const std::string& number, bool masked, TileCode& code, Lines& body) {
  code.body = code.outer = &body;
  for (const char* used : {"offs", "mask", "N", "BLOCK", "pid", "tile"}) code.Name(used);
  code.axes[AxisKind::kFlat] = {"offs", masked ? "mask" : ""};
  body.Add(
      fmt::format("offs = {}{} * BLOCK + tl.arange(0, BLOCK)", number, code.wide() ? ".to(tl.int64)" : ""));
  if (masked) body.Add("mask = offs < N");
  for (PrimId member : group.members) {
    if (!code.IsScatter(member)) code.Member(member);
  }
  for (PrimId member : group.stores) {
    if (!code.IsScatter(member)) code.Store(member);
  }
  for (PrimId member : group.members) {
    if (code.IsScatter(member)) code.Scatter(member);
  }
}

KernelCode WriteFlatKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                           const KernelOptions& options, const std::string& name) {
  int64_t n = group.Size(AxisKind::kFlat);
  int64_t block = std::min(options.flat_block, std::max<int64_t>(NextPowerOf2(n), 64));
  TileCode code(graph, group, buffers);
  const bool persistent = options.persistent && n > block;
  Lines head, body(persistent ? 2 : 1);
  const std::string count = CountText(FactorsOf(group.domain, AxisKind::kFlat));
  const bool masked = options.simple || n % block != 0;
  if (persistent) {
    head.Add("# Each program takes every num_programs-th block of BLOCK neighbouring elements.");
    head.Add("for tile in range(tl.program_id(0), tl.cdiv(N, BLOCK), tl.num_programs(0)):");
  } else {
    body.Add("# Each program computes BLOCK neighbouring elements.");
  }
  AddFlatBlock(group, persistent ? "tile" : "tl.program_id(0)", masked, code, body);

  KernelCode kernel;
  kernel.name = name;
  kernel.divisions = code.divided().size();
  kernel.divides_lines = std::ranges::any_of(
      code.divided(), [](const std::string& term) { return term.find("//") == std::string::npos; });
  kernel.pointers = code.pointers();
  kernel.grid = GridText(n, count, block, persistent);
  const bool sized = masked || persistent;
  kernel.constants = sized ? fmt::format("N={}, BLOCK={}", count, block) : fmt::format("BLOCK={}", block);
  kernel.num_warps = options.num_warps > 0 ? options.num_warps : block >= 2048 ? 8 : 4;
  kernel.source = KernelText(
      name, code, sized ? std::vector<std::string>{"N", "BLOCK"} : std::vector<std::string>{"BLOCK"},
      head.text() + body.text());
  kernel.access = fmt::format("{} elements, independent of each other and read in memory order", count);
  kernel.launch = persistent
                      ? fmt::format("persistent: blocks of {} elements shared by grid {}", block, kernel.grid)
                      : fmt::format("one program for each {} elements, grid {}", block, kernel.grid);
  kernel.compute = fmt::format("load the operands{}, compute {} in registers, store once",
                               masked ? " under a tail mask" : "", OperatorList(graph, group));
  return kernel;
}

}  // namespace tritogen::teach
