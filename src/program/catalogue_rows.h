// What rows_*.cc write; catalogue.cc makes rows of it.
#pragma once

#include <string_view>
#include <vector>

#include "program/catalogue.h"
#include "program/rules.h"

namespace tritogen {

// Columns as in OpRow; schemas and specs still text.
struct RowText {
  std::string_view name;
  std::vector<std::string_view> schemas;
  ShapeRule shape = rules::Pointwise;
  std::vector<Dtypes> dtypes = {Dtypes::kPromoted};
  Flops flops = {};
  bool selects = false;
  std::string_view torch = {};
  std::string_view specs = {};
  Compute compute = Compute::kResult;
  std::vector<OpCase> cases = {};
};

std::vector<OpRow> Rows(OpClass kind, const std::vector<RowText>& rows);
std::vector<OpRow> JoinRows(const std::vector<std::vector<OpRow>>& parts);

std::vector<OpRow> ActivationRows();
std::vector<OpRow> UnaryRows();
std::vector<OpRow> BinaryRows();
std::vector<OpRow> ReductionRows();
std::vector<OpRow> NormRows();
std::vector<OpRow> MatmulRows();
std::vector<OpRow> FactorRows();
std::vector<OpRow> LayoutRows();
std::vector<OpRow> IndexRows();
std::vector<OpRow> SpatialRows();
std::vector<OpRow> CreateRows();

}  // namespace tritogen
