#include "program/catalogue.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "program/catalogue_rows.h"

namespace tritogen {

std::vector<OpRow> Rows(OpClass kind, const std::vector<RowText>& rows) {
  std::vector<OpRow> made;
  for (const RowText& text : rows) {
    OpRow row{.name = std::string(text.name),
              .kind = kind,
              .shape = text.shape,
              .dtypes = text.dtypes,
              .flops = text.flops,
              .selects = text.selects,
              .torch = std::string(text.torch),
              .specs = ParseParamSpecs(text.specs),
              .compute = text.compute,
              .cases = text.cases};
    for (std::string_view schema : text.schemas) row.signatures.push_back(ParseSignature(schema));
    for (const ParamSpec& spec : row.specs) {
      TRITOGEN_CHECK(std::any_of(row.signatures.begin(), row.signatures.end(),
                                 [&](const Signature& s) { return s.Find(spec.param) != nullptr; }));
    }
    made.push_back(std::move(row));
  }
  return made;
}

std::vector<OpRow> JoinRows(const std::vector<std::vector<OpRow>>& parts) {
  std::vector<OpRow> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

namespace {

constexpr std::pair<OpClass, std::string_view> kClassNames[] = {
    {OpClass::kPointwise, "pointwise"}, {OpClass::kReduction, "reductions"}, {OpClass::kMatmul, "products"},
    {OpClass::kNorm, "norms"},          {OpClass::kLayout, "layouts"},       {OpClass::kCreate, "creators"},
    {OpClass::kOther, "others"}};

}  // namespace

std::string_view ClassName(OpClass kind) {
  for (const auto& [one, name] : kClassNames) {
    if (one == kind) return name;
  }
  throw InternalError("an operator's class without a name");
}

std::optional<OpClass> ClassNamed(std::string_view name) {
  for (const auto& [kind, text] : kClassNames) {
    if (text == name) return kind;
  }
  return std::nullopt;
}

const ParamSpec* OpRow::SpecOf(std::string_view param) const {
  for (const ParamSpec& spec : specs) {
    if (spec.param == param) return &spec;
  }
  return nullptr;
}

Dtypes OpRow::DtypeOf(int result) const {
  return dtypes[std::min<size_t>(result, dtypes.size() - 1)];
}

const std::vector<OpRow>& Catalogue() {
  static const std::vector<OpRow> rows =
      JoinRows({ActivationRows(), UnaryRows(), BinaryRows(), ReductionRows(), NormRows(), MatmulRows(),
                LayoutRows(), IndexRows(), SpatialRows(), CreateRows(), FactorRows()});
  return rows;
}

std::string_view WithoutNamespace(std::string_view aten_name) {
  if (aten_name.starts_with("aten::")) aten_name.remove_prefix(6);
  return aten_name;
}

std::string_view BaseName(std::string_view aten_name) {
  std::string_view name = WithoutNamespace(aten_name);
  return name.substr(0, name.find('.'));
}

bool IsInPlace(std::string_view aten_name) {
  std::string_view base = BaseName(aten_name);
  return base.ends_with('_') && !base.ends_with("__");
}

const OpRow* FindOp(std::string_view aten_name) {
  // Names of rows and of their overloads; the first row of a base name answers for the name alone.
  static const std::unordered_map<std::string_view, const OpRow*> index = [] {
    std::unordered_map<std::string_view, const OpRow*> rows;
    for (const OpRow& row : Catalogue()) {
      for (const Signature& signature : row.signatures)
        TRITOGEN_CHECK(rows.emplace(signature.name, &row).second);
    }
    for (const OpRow& row : Catalogue()) rows.emplace(row.name, &row);
    return rows;
  }();
  auto found = index.find(WithoutNamespace(aten_name));
  return found == index.end() ? nullptr : found->second;
}

const Node* FindUnknown(const Program& program) {
  const auto found = std::find_if(program.nodes.begin(), program.nodes.end(), [](const Node& node) {
    return node.kind == NodeKind::kOp && FindOp(node.op) == nullptr;
  });
  return found == program.nodes.end() ? nullptr : &*found;
}

std::optional<OpCall> BindCall(const Node& node) {
  const OpRow* row = FindOp(node.op);
  return row == nullptr ? std::nullopt : BindCall(*row, node);
}

std::optional<OpCall> BindCall(const OpRow& row, const Node& node) {
  const std::string_view name = WithoutNamespace(node.op);
  const bool exact = std::any_of(row.signatures.begin(), row.signatures.end(),
                                 [&](const Signature& signature) { return signature.name == name; });
  for (const Signature& signature : row.signatures) {
    if (exact && signature.name != name) continue;
    if (auto args = BoundArgs::Bind(signature, node)) return OpCall{&row, &signature, std::move(*args)};
  }
  return std::nullopt;
}

}  // namespace tritogen
