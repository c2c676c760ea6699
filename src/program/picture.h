// Pictures of a Program: Graphviz text, and SVG with a layout of our own.
#pragma once

#include <string>

#include "program/program.h"

namespace tritogen {

// digraph for `dot -Tsvg`; nodes are called by their printed names.
std::string ToDot(const Program& program);

// A complete SVG document: a box for each node with its function and shape, the whole call as its tooltip,
// coloured by class of operator; outputs have a heavy frame. Needs no fonts or scripts.
std::string ToSvg(const Program& program);

}  // namespace tritogen
