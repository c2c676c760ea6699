#include "teach/factor_descriptor.h"

namespace tritogen::teach {
namespace {

int TimesRead(const Graph& graph, PrimId reader, PrimId read) {
  int times = 0;
  for (const View& view : graph[reader].operands) {
    times += view.prim == read;
    if (view.prim >= 0 && graph[view.prim].inlined) times += TimesRead(graph, view.prim, read);
  }
  return times;
}

bool IsOne(const std::vector<Digit>& digits) {
  return digits.size() == 1;
}

}  // namespace

std::optional<FactorDescriptor> DescribeFactor(const Graph& graph, const Group& group, size_t operand,
                                               int64_t block_k) {
  const Prim& product = graph[group.members[0]];
  const View& view = product.operands[operand];
  if (view.prim < 0 || graph[view.prim].inlined || view.offset != 0 || !view.guards.empty())
    return std::nullopt;
  int readers = 0;
  for (PrimId member : group.members) readers += TimesRead(graph, member, view.prim);
  if (readers != 1) return std::nullopt;

  const bool second = product.Factor(operand) == 1;
  const int64_t batches = group.Size(AxisKind::kBatch), k = product.inner,
                rows = second ? k : group.Size(AxisKind::kM), columns = second ? group.Size(AxisKind::kN) : k;
  const auto digits = SplitIntoAxes(view, {batches, rows, columns});
  if (!digits || !IsOne((*digits)[1]) || !IsOne((*digits)[2])) return std::nullopt;
  const Digit outer = (*digits)[1][0], inner = (*digits)[2][0];
  FactorDescriptor factor{rows, columns, second && outer.stride == 1 && inner.stride == rows, false};
  if (factor.turned) {
    std::swap(factor.rows, factor.columns);
  } else if (inner.stride != 1 || outer.stride != columns) {
    return std::nullopt;
  }
  if (batches > 1) {
    if (!IsOne((*digits)[0])) return std::nullopt;
    const int64_t stride = (*digits)[0][0].stride;
    if (stride != 0 && stride != rows * columns) return std::nullopt;
    factor.by_batch = stride != 0;
    // Behind the last row of a matrix comes the next one: along k nothing but zeros may.
    if (factor.by_batch && second && !factor.turned && k % block_k != 0) return std::nullopt;
    if (factor.by_batch) factor.rows *= batches;
  }
  const auto bytes = static_cast<int64_t>(DtypeSize(graph[view.prim].dtype));
  if (graph.Whole(view.prim).numel() != factor.rows * factor.columns || factor.columns * bytes % 16 != 0)
    return std::nullopt;
  return factor;
}

}  // namespace tritogen::teach
