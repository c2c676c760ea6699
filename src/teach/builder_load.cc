// Builder: indexed loads, and values without operands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "program/triton_dtype.h"
#include "teach/count_text.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// What may be computed again for every element that a load reads, rather than stored once.
constexpr double kFlopsAgain = 8;

// The number of an element, of a value of this shape, from its indices, which are operands 1, 2, …:
// "{1} * (3 * 4) + {2}".
std::string ElementText(const std::vector<Value>& index, const View& data,
                        const std::vector<int64_t>& shape) {
  int64_t offset = data.offset;
  std::vector<std::string> terms;
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t stride = data.strides[i];
    if (stride == 0) continue;
    if (const auto number = ConstantIndex(index[i].view)) {
      offset += *number * stride;
      continue;
    }
    terms.push_back(stride == 1 ? fmt::format("{{{}}}", i + 1)
                                : fmt::format("{{{}}} * {}", i + 1, StrideText(shape, stride)));
  }
  if (offset < 0) {
    terms.push_back(fmt::format("{}", offset));
  } else {
    for (std::string& term : PlaceTerms(shape, offset)) terms.push_back(std::move(term));
  }
  if (terms.empty()) terms.push_back("0");
  return fmt::format("{}", fmt::join(terms, " + "));
}

// What a load gives where there is nothing to read.
std::string FillText(const std::string& other, Dtype dtype) {
  return other.empty() ? NumberText(Arg{int64_t{0}}, dtype) : other;
}

}  // namespace

// Work for single elements once more, at places of its own.
Value Builder::Again(Prim maker, const std::vector<Value>& in, const std::vector<Value>& index) {
  maker.result.clear();
  maker.operands.clear();
  maker.shape.clear();
  std::vector<std::vector<int64_t>> shapes;
  for (const Value& value : index) shapes.push_back(value.sizes());
  maker.sizes = BroadcastSizes(shapes);
  return AddPointwise(std::move(maker), in);
}

Value Builder::Where(const std::string& name, const Value& valid, const Value& value,
                     const std::string& fill) {
  return Pointwise(name, fmt::format("tl.where({{1}}, {{0}}, {})", fill), {value, valid}, value.dtype, 1);
}

// Reads through pointwise work to what it reads, so that relu(x) before a pool needs no memory of its own.
std::optional<Value> Builder::LoadThrough(const std::string& name, const Value& data,
                                          const std::vector<Value>& index, const std::optional<Value>& valid,
                                          const std::string& other) {
  if (data.view.prim < 0) return std::nullopt;
  const Prim maker = graph[data.view.prim];
  if (maker.kind != PrimKind::kPointwise || maker.once || maker.flops > kFlopsAgain ||
      data.view != graph.Whole(data.view.prim)) {
    return std::nullopt;
  }
  for (const View& view : maker.operands) {
    if (!view.guards.empty()) return std::nullopt;
    if (view.prim < 0) continue;
    const Prim& source = graph[view.prim];
    if (source.kind == PrimKind::kLoad || (source.kind == PrimKind::kPointwise && source.flops > 0))
      return std::nullopt;
  }
  std::vector<Value> in;
  for (size_t i = 0; i < maker.operands.size(); ++i) {
    const View& view = maker.operands[i];
    in.push_back(view.prim < 0 ? *NumberAt(view, index)
                               : Load(name, {view, graph[view.prim].dtype}, index, valid, {}));
  }
  const Value result = Again(maker, in, index);
  return valid ? Where(name, *valid, result, FillText(other, data.dtype)) : result;
}

// What arithmetic of element numbers gives at places of its own; nothing where it reads memory.
std::optional<Value> Builder::NumberAt(const View& view, const std::vector<Value>& index) {
  if (!view.guards.empty()) return std::nullopt;
  if (view.prim < 0) {
    std::vector<Term> terms;
    for (size_t d = 0; d < index.size(); ++d) terms.push_back({view.strides[d], index[d]});
    return Affine("index", terms, view.offset);
  }
  const Prim maker = graph[view.prim];
  if (maker.kind != PrimKind::kPointwise || maker.once) return std::nullopt;
  std::vector<Value> in;
  for (size_t i = 0; i < maker.operands.size(); ++i) {
    const auto operand = Compose(view, maker.operands[i]);
    const auto number = operand ? NumberAt(*operand, index) : std::nullopt;
    if (!number) return std::nullopt;
    in.push_back(*number);
  }
  return Again(maker, in, index);
}

// Reads through a load by computed places (padding, a roll, a resize): what it reads, at places of those.
std::optional<Value> Builder::LoadOfLoad(const std::string& name, const Value& data,
                                         const std::vector<Value>& index, const std::optional<Value>& valid,
                                         const std::string& other) {
  if (data.view.prim < 0) return std::nullopt;
  const Prim maker = graph[data.view.prim];
  if (maker.kind != PrimKind::kLoad || maker.once || !maker.guards.empty() ||
      data.view != graph.Whole(data.view.prim))
    return std::nullopt;
  std::vector<Value> at;
  for (size_t i = 1; i < maker.operands.size(); ++i) {
    const auto number = NumberAt(maker.operands[i], index);
    if (!number) return std::nullopt;
    at.push_back(*number);
  }
  const Value source{maker.operands[0], maker.dtype};
  if (maker.valid.empty()) return Load(name, source, at, valid, other);
  Value inside = at.back();
  at.pop_back();
  if (valid) inside = Pointwise("inside", "{0} & {1}", {*valid, inside}, Dtype::kBool, 0);
  const Value result = Load(name, source, at, inside, maker.other);
  const std::string fill = FillText(other, data.dtype);
  return !valid || fill == maker.other ? result : Where(name, *valid, result, fill);
}

Value Builder::Load(std::string name, const Value& data, const std::vector<Value>& index,
                    const std::optional<Value>& valid, std::string other) {
  TRITOGEN_CHECK(index.size() == data.sizes().size() && data.view.guards.empty());
  if (auto through = LoadThrough(name, data, index, valid, other)) return *through;
  if (auto through = LoadOfLoad(name, data, index, valid, other)) return *through;
  Prim prim;
  prim.kind = PrimKind::kLoad;
  prim.name = std::move(name);
  prim.origin = origin;
  prim.dtype = data.dtype;
  prim.held = ComputeDtype(data.dtype);
  const bool wide = Reach(data.view) >= kNarrowLimit;
  std::vector<Value> in = index;
  if (valid) in.push_back(*valid);
  std::vector<std::vector<int64_t>> shapes;
  for (const Value& value : in) shapes.push_back(value.sizes());
  prim.sizes = BroadcastSizes(shapes);
  prim.operands = {data.view};
  prim.compute = {data.dtype};
  for (const Value& value : in) {
    prim.operands.push_back(Expand(value.view, prim.sizes));
    const bool condition = valid && &value == &in.back();
    prim.compute.push_back(condition ? Dtype::kBool : wide ? Dtype::kInt64 : value.dtype);
  }
  prim.expr = ElementText(index, data.view, graph[data.view.prim].Shape());
  if (valid) {
    prim.valid = fmt::format("{{{}}}", in.size());
    prim.other = FillText(other, data.dtype);
  }
  Dtype dtype = prim.dtype;
  PrimId id = graph.Add(std::move(prim));
  return {graph.Whole(id), dtype};
}

Value Builder::Scatter(std::string name, std::string how, const Value& start, const std::vector<Value>& index,
                       int64_t dim, const Value& entry) {
  TRITOGEN_CHECK(index.size() == start.sizes().size() && start.view.guards.empty());
  Prim prim;
  prim.kind = PrimKind::kScatter;
  prim.name = std::move(name);
  prim.origin = origin;
  prim.dtype = prim.held = start.dtype;
  prim.sizes = start.sizes();
  prim.other = std::move(how);
  prim.flops = 1;
  if (const auto number = NumberEverywhere(start.view)) {
    prim.start = *number;
    prim.operands = {{kElementNumber, 0, prim.sizes, std::vector<int64_t>(prim.sizes.size(), 0), {}}};
  } else {
    prim.operands = {start.view};
  }
  prim.compute = {start.dtype};
  const bool wide = Product(prim.sizes) >= kNarrowLimit;
  std::vector<Value> in = index;
  in.push_back(entry);
  std::vector<std::vector<int64_t>> shapes;
  for (const Value& value : in) shapes.push_back(value.sizes());
  prim.space = BroadcastSizes(shapes);
  for (size_t i = 0; i < in.size(); ++i) {
    prim.operands.push_back(Expand(in[i].view, prim.space));
    prim.compute.push_back(i == index.size() ? start.dtype : wide ? Dtype::kInt64 : in[i].dtype);
  }
  prim.expr = ElementText(index, ContiguousView(kElementNumber, prim.sizes), prim.sizes);
  prim.valid = fmt::format("({{{0}}} >= 0) & ({{{0}}} < {1})", dim + 1, CountOperand({prim.sizes[dim]}));
  const PrimId id = graph.Add(std::move(prim));
  return {graph.Whole(id), start.dtype};
}

std::optional<std::string> Builder::NumberEverywhere(const View& view) const {
  constexpr std::string_view kFull = "tl.full([], ";
  if (view.prim < 0) return std::nullopt;
  const Prim& prim = graph[view.prim];
  if (prim.kind != PrimKind::kPointwise || !prim.operands.empty() || !prim.expr.starts_with(kFull))
    return std::nullopt;
  return prim.expr.substr(kFull.size(), prim.expr.rfind(", ") - kFull.size());
}

bool Builder::IsWritten(const Value& value) const {
  return std::ranges::count(graph.writes, value.view.prim, &Graph::Write::value) > 0;
}

bool Builder::CanWrite(NodeRef to) const {
  const Value value = Get(to);
  const PrimId id = value.view.prim;
  if (id < 0 || value.view != graph.Whole(id)) return false;
  return IsMade(to) || graph[id].kind == PrimKind::kSource || IsWritten(value);
}

bool Builder::IsMade(NodeRef ref) const {
  return program_->nodes[memory_of_(ref)].kind == NodeKind::kOp;
}

bool Builder::Write(NodeRef to, const Value& value) {
  const Value before = Get(to);
  const PrimId old = before.view.prim, made = value.view.prim;
  if (!CanWrite(to) || made < 0 || value.view != graph.Whole(made)) return false;
  if (!graph[made].IsElementwise() || before.sizes() != value.sizes() || before.dtype != value.dtype)
    return false;
  const auto write = std::ranges::find(graph.writes, old, &Graph::Write::value);
  if (IsMade(to)) {
    // Nobody but this program reads it.
  } else if (write != graph.writes.end()) {
    write->value = made;
  } else {
    graph.writes.push_back({made, old});
  }
  const NodeId memory = memory_of_(to);
  for (NodeId id = 0; id < static_cast<NodeId>(values_.size()); ++id) {
    for (size_t r = 0; r < values_[id].size(); ++r) {
      View& view = values_[id][r].view;
      if (view.prim == old && memory_of_({id, static_cast<int>(r)}) == memory) view.prim = made;
    }
  }
  return true;
}

std::string NumberText(const Arg& number, Dtype dtype) {
  const std::optional<double> value = AsNumber(number);
  if (value && IsFloating(dtype)) return PythonLiteral(Arg{*value});
  if (value && dtype == Dtype::kBool) return PythonLiteral(Arg{*value != 0});
  if (value && std::trunc(*value) == *value && std::abs(*value) < 0x1p53)
    return PythonLiteral(Arg{static_cast<int64_t>(*value)});
  return PythonLiteral(number);
}

Value Builder::Fill(const std::vector<int64_t>& sizes, Dtype dtype, const Arg& number) {
  Prim prim;
  prim.name = "fill";
  prim.dtype = dtype;
  prim.sizes = sizes;
  prim.expr = fmt::format("tl.full([], {}, {})", NumberText(number, dtype), TritonDtype(ComputeDtype(dtype)));
  Value filled = AddPointwise(std::move(prim), {});
  if (auto value = AsNumber(number); value && IsFloating(dtype)) fill_[filled.view.prim] = *value;
  return filled;
}

Value Builder::Affine(std::string name, const std::vector<Term>& terms, int64_t offset) {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<Term> moving;
  for (const Term& term : terms) {
    shapes.push_back(term.value.sizes());
    if (const auto number = ConstantIndex(term.value.view)) {
      offset += term.factor * *number;
    } else if (term.factor != 0) {
      moving.push_back(term);
    }
  }
  const std::vector<int64_t> sizes = BroadcastSizes(shapes);
  if (moving.empty())
    return {View{kElementNumber, offset, sizes, std::vector<int64_t>(sizes.size(), 0), {}}, Dtype::kInt32};
  if (moving.size() == 1 && moving[0].factor == 1 && offset == 0) return moving[0].value;
  std::string expr;
  std::vector<Value> in;
  const auto add = [&](int64_t factor, const std::string& what) {
    if (!expr.empty() || factor < 0) expr += expr.empty() ? "-" : factor < 0 ? " - " : " + ";
    expr += std::abs(factor) == 1 ? what : fmt::format("{} * {}", what, std::abs(factor));
  };
  for (const Term& term : moving) {
    add(term.factor, fmt::format("{{{}}}", in.size()));
    in.push_back(term.value);
  }
  if (offset != 0) expr += fmt::format(" {} {}", offset < 0 ? '-' : '+', std::abs(offset));
  return Pointwise(std::move(name), std::move(expr), in, Dtype::kInt32, 0);
}

std::string Conditions::Hole(const Value& value) {
  values_.push_back(value);
  return fmt::format("{{{}}}", values_.size() - 1);
}

void Conditions::Add(const Value& value, std::string_view is) {
  text_ += fmt::format("{}({} {})", text_.empty() ? "" : " & ", Hole(value), is);
}

void Conditions::Within(const Value& value, int64_t least, int64_t most, int64_t n) {
  if (least >= 0 && most < n) return;
  Add(value, ">= 0");
  Add(value, fmt::format("< {}", n));
}

Value Conditions::Quotient(Builder& b, const std::string& name, const Value& value, int64_t by, int64_t least,
                           int64_t most, int64_t n) {
  if (by == 1) {
    Within(value, least, most, n);
    return value;
  }
  const auto number = ConstantIndex(value.view);
  if (number && *number >= 0 && *number < n * by && *number % by == 0)
    return b.Affine(name, {{0, value}}, *number / by);
  Add(value, fmt::format("% {} == 0", by));
  Value quotient = b.Pointwise(name, fmt::format("{{0}} // {}", by), {value}, Dtype::kInt32, 0);
  if (least < 0 || most / by >= n) {
    Add(value, ">= 0");
    Add(quotient, fmt::format("< {}", n));
  }
  return quotient;
}

std::optional<Value> Conditions::All(Builder& b) const {
  if (values_.empty()) return std::nullopt;
  return b.Pointwise("inside", text_, values_, Dtype::kBool, 0);
}

std::vector<Value> Builder::Indices(const std::vector<int64_t>& sizes) {
  std::vector<Value> all;
  for (size_t d = 0; d < sizes.size(); ++d) all.push_back(Index(sizes, static_cast<int64_t>(d)));
  return all;
}

std::vector<int64_t> PerDimension(const BoundArgs& args, std::string_view name, size_t count,
                                  int64_t otherwise) {
  std::vector<int64_t> values = AsInts(args[name]).value_or(std::vector<int64_t>{});
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() == 1) values.assign(count, values[0]);
  TRITOGEN_CHECK(values.size() == count);
  return values;
}

}  // namespace tritogen::teach
