// The catalogue's rows by family; catalogue.cc joins them.
#pragma once

#include <vector>

#include "program/catalogue.h"

namespace tritogen {

std::vector<OpRow> PointwiseRows();
std::vector<OpRow> CompoundRows();

}  // namespace tritogen
