#include "teach/graph.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "base/error.h"
#include "base/splitmix.h"

namespace tritogen::teach {

namespace {

// All but the name.
auto WorkOf(const Prim& p) {
  return std::tie(p.kind, p.dtype, p.sizes, p.operands, p.expr, p.valid, p.other, p.start, p.guards,
                  p.compute, p.held, p.inlined, p.reduce, p.space, p.reduced, p.rank, p.piece, p.by_line,
                  p.place, p.backwards, p.batch_dims, p.inner, p.parts, p.tf32, p.taps, p.first, p.ahead,
                  p.behind, p.plain, p.pieces, p.layers, p.both, p.columns, p.node);
}

size_t HashOf(const Prim& prim) {
  size_t hash = std::hash<std::string>()(prim.expr);
  auto mix = [&](int64_t number) { hash = SplitMix::Mix(hash ^ static_cast<uint64_t>(number)); };
  mix(static_cast<int64_t>(prim.kind));
  mix(prim.node.id);
  for (int64_t size : prim.sizes) mix(size);
  for (const View& view : prim.operands) {
    mix(view.prim);
    mix(view.offset);
    for (int64_t stride : view.strides) mix(stride);
  }
  return hash;
}

}  // namespace

PrimId Graph::Add(Prim prim) {
  std::vector<PrimId>& alike = known_[HashOf(prim)];
  if (prim.kind != PrimKind::kCall) {
    for (PrimId id : alike) {
      if (WorkOf(prims[id]) == WorkOf(prim)) return id;
    }
  }
  prims.push_back(std::move(prim));
  alike.push_back(static_cast<PrimId>(prims.size()) - 1);
  return alike.back();
}

void Graph::RemoveUnused() {
  std::vector<bool> needed(prims.size(), false);
  for (const View& view : outputs) {
    if (view.prim >= 0) needed[view.prim] = true;
  }
  for (const Write& write : writes) needed[write.value] = needed[write.to] = true;
  for (const PrimId update : updates) needed[update] = true;
  for (size_t i = prims.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const View& view : prims[i].operands) {
      if (view.prim >= 0) needed[view.prim] = true;
    }
  }
  std::vector<PrimId> renamed(prims.size(), -1);
  std::vector<Prim> kept;
  for (size_t i = 0; i < prims.size(); ++i) {
    if (!needed[i]) continue;
    renamed[i] = static_cast<PrimId>(kept.size());
    kept.push_back(std::move(prims[i]));
    kept.back().Rename(renamed);
  }
  Rename(renamed);
  prims = std::move(kept);
  known_.clear();
  for (size_t i = 0; i < prims.size(); ++i) known_[HashOf(prims[i])].push_back(static_cast<PrimId>(i));
}

void Graph::Rename(const std::vector<PrimId>& renamed) {
  for (View& view : outputs) {
    if (view.prim >= 0) view.prim = renamed[view.prim];
  }
  for (Write& write : writes) write = {renamed[write.value], renamed[write.to]};
  for (PrimId& update : updates) update = renamed[update];
}

void Graph::TakeResults(const Graph& from, const std::vector<PrimId>& renamed) {
  outputs = from.outputs;
  writes = from.writes;
  updates = from.updates;
  Rename(renamed);
}

void Graph::CopyReplacing(const Graph& from, const std::function<std::optional<PrimId>(PrimId)>& replaced,
                          std::vector<PrimId>* renamed) {
  for (PrimId id = 0; id < static_cast<PrimId>(from.prims.size()); ++id) {
    if (const auto other = replaced(id)) {
      renamed->push_back(*other);
      continue;
    }
    Prim prim = from[id];
    prim.Rename(*renamed);
    renamed->push_back(Add(std::move(prim)));
  }
  TakeResults(from, *renamed);
  RemoveUnused();
}

void Prim::Rename(const std::vector<PrimId>& renamed) {
  for (View& view : operands) {
    if (view.prim >= 0) view.prim = renamed[view.prim];
  }
  if (spread && (spread->total = renamed[spread->total]) < 0) spread.reset();
}

int64_t Prim::Batches() const {
  int64_t batches = 1;
  for (int i = 0; i < batch_dims; ++i) batches *= TileSizes()[i];
  return batches;
}

int64_t Prim::RowsOfBatch() const {
  return Product(TileSizes()) / TileSizes().back() / Batches();
}

bool FitsDot(Dtype dtype) {
  return dtype == Dtype::kFloat32 || IsHalf(dtype);
}

bool IsHalf(Dtype dtype) {
  return dtype == Dtype::kFloat16 || dtype == Dtype::kBFloat16;
}

Dtype ComputeDtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
    case Dtype::kBFloat16:
    case Dtype::kFloat8E4M3:
    case Dtype::kFloat8E5M2:
      return Dtype::kFloat32;
    default:
      return dtype;
  }
}

std::vector<int64_t> BroadcastSizes(const std::vector<std::vector<int64_t>>& shapes) {
  size_t rank = 0;
  for (const auto& shape : shapes) rank = std::max(rank, shape.size());
  std::vector<int64_t> sizes(rank, 1);
  for (const auto& shape : shapes) {
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t& size = sizes[rank - shape.size() + i];
      if (shape[i] == 1 || shape[i] == size) continue;
      TRITOGEN_CHECK(size == 1);
      size = shape[i];
    }
  }
  return sizes;
}

Dtype PromoteTypes(Dtype a, Dtype b) {
  if (a == b) return a;
  if (IsFloating(a) != IsFloating(b)) return IsFloating(a) ? a : b;
  if (IsFloating(a)) {
    size_t size = std::max(DtypeSize(a), DtypeSize(b));
    return size == 2 && DtypeSize(a) == DtypeSize(b) ? Dtype::kFloat32 : DtypeSize(a) == size ? a : b;
  }
  if (a == Dtype::kBool || b == Dtype::kBool) return a == Dtype::kBool ? b : a;
  if ((a == Dtype::kUint8) != (b == Dtype::kUint8) && DtypeSize(a) == DtypeSize(b)) return Dtype::kInt16;
  return DtypeSize(a) >= DtypeSize(b) ? a : b;
}

}  // namespace tritogen::teach
