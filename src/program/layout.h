// A layered drawing of a Program: every node below the nodes that it reads, few crossings, long edges led
// through the layers between. The method is Sugiyama, Tagawa and Toda's (1981): layers by longest path, order
// in a layer by barycentres, sweeping down and up.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tritogen {

struct GraphLayout {
  struct Box {
    double x = 0, y = 0, width = 0;  // x: centre, y: upper edge
    NodeId node = -1;                // −1: an edge passes here
  };
  struct Point {
    double x, y;
  };
  struct Edge {
    NodeRef from;
    NodeId to;
    std::vector<Point> path;  // from the lower edge of one box to the upper edge of the other
  };
  std::vector<Box> boxes;  // one a node, in the program's order, then the bends
  std::vector<Edge> edges;
  double width = 0, height = 0;
  static constexpr double kBoxHeight = 40;
};

// `widths`: of each node's box, in pixels.
GraphLayout LayOut(const Program& program, const std::vector<double>& widths);

}  // namespace tritogen
