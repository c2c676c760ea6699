// Text of what a tile of a product reduces of its own elements.
#pragma once

#include <map>
#include <string>

#include "teach/tile_code.h"

namespace tritogen::teach {

class TileReductions {
 public:
  // Of the group's product. References must outlive this.
  TileReductions(const Graph& graph, const Group& group, TileCode* code)
      : graph_(graph), group_(group), code_(*code) {}

  // What this tile makes of its rows, or columns, for a reduction, and where it stores that. In the graph's
  // order.
  void Write(PrimId id, Lines* lines);

 private:
  std::string Inside(const Prim& prim);
  std::string SquaredDistances(const Prim& prim, Lines* lines);
  std::string PlaceOf(const Prim& prim) const;
  const std::string& MaskOf(AxisKind axis) const { return code_.axes.at(axis).mask; }

  const Graph& graph_;
  const Group& group_;
  TileCode& code_;
  std::map<PrimId, std::string> names_;  // of what was made
};

}  // namespace tritogen::teach
