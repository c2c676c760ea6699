#include "teach/kernel_text.h"
#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/rounding.h"
#include "teach/kernel.h"
#include "teach/sort_text.h"

namespace tritogen::teach {
namespace {

std::string Lowest(Dtype dtype) {
  switch (dtype) {
    case Dtype::kUint8:
      return "0";
    case Dtype::kInt8:
      return "-128";
    case Dtype::kInt16:
      return "-32768";
    case Dtype::kInt32:
      return "-2147483648";
    case Dtype::kInt64:
      return "-9223372036854775808";
    default:
      return "float(\"-inf\")";
  }
}

std::string Highest(Dtype dtype) {
  switch (dtype) {
    case Dtype::kUint8:
      return "255";
    case Dtype::kInt8:
      return "127";
    case Dtype::kInt16:
      return "32767";
    case Dtype::kInt32:
      return "2147483647";
    case Dtype::kInt64:
      return "9223372036854775807";
    default:
      return "float(\"inf\")";
  }
}

}  // namespace

std::string Neutral(ReduceOp op, Dtype dtype) {
  switch (op) {
    case ReduceOp::kSum:
      return IsFloating(dtype) ? "0.0" : "0";
    case ReduceOp::kProd:
      return IsFloating(dtype) ? "1.0" : "1";
    case ReduceOp::kMax:
    case ReduceOp::kLargest:
    case ReduceOp::kArgMax:
    case ReduceOp::kLogSumExp:
      return Lowest(dtype);
    case ReduceOp::kMin:
    case ReduceOp::kSmallest:
    case ReduceOp::kArgMin:
    case ReduceOp::kOfRank:
    case ReduceOp::kSort:
      return Highest(dtype);
  }
  return "";
}

bool KeepsNan(ReduceOp op, Dtype dtype) {
  return IsFloating(dtype) && (op == ReduceOp::kMax || op == ReduceOp::kMin);
}

std::string ReducedText(ReduceOp op, Dtype dtype, std::string_view tile, int axis, bool keep_dims) {
  const std::string_view kept = keep_dims ? ", keep_dims=True" : "";
  if (op == ReduceOp::kProd) return fmt::format("tl.reduce({}, {}, multiply{})", tile, axis, kept);
  const bool largest = op == ReduceOp::kMax || op == ReduceOp::kLargest;
  if (KeepsNan(op, dtype))
    return fmt::format("tl.reduce({}, {}, {}{})", tile, axis, largest ? "larger" : "smaller", kept);
  const char* function = op == ReduceOp::kSum ? "sum" : largest ? "max" : "min";
  return fmt::format("tl.{}({}, axis={}{})", function, tile, axis, kept);
}

std::string TakesIn(ReduceOp op, Dtype dtype, std::string_view total, std::string_view element) {
  const char* nan = KeepsNan(op, dtype) ? ", propagate_nan=tl.PropagateNan.ALL" : "";
  switch (op) {
    case ReduceOp::kSum:
      return fmt::format("{} += {}", total, element);
    case ReduceOp::kProd:
      return fmt::format("{} *= {}", total, element);
    case ReduceOp::kMax:
    case ReduceOp::kLargest:
      return fmt::format("{0} = tl.maximum({0}, {1}{2})", total, element, nan);
    case ReduceOp::kMin:
    case ReduceOp::kSmallest:
      return fmt::format("{0} = tl.minimum({0}, {1}{2})", total, element, nan);
    case ReduceOp::kArgMax:
    case ReduceOp::kArgMin:
    case ReduceOp::kOfRank:
    case ReduceOp::kLogSumExp:
    case ReduceOp::kSort:
      break;
  }
  TRITOGEN_CHECK(false);
}

std::string ProductKeepingZero(std::string_view a, std::string_view b) {
  return fmt::format(
      "tl.where(({0} == 0) | ({1} == 0), tl.where(({0} != {0}) | ({1} != {1}), {0} + {1}, 0.0), {0} * {1})",
      a, b);
}

std::string SumOfExponentials(std::string_view a, std::string_view b) {
  return fmt::format(
      "tl.where({0} == {1}, {0} + 0.6931471805599453, tl.maximum({0}, {1}) + "
      "libdevice.log1p(tl.exp(-tl.abs({0} - {1}))))",
      a, b);
}

// As PyTorch computes them: a quotient that is rounded up to a whole number must not count as one.
constexpr std::string_view kRemainder = R"(

@triton.jit
def floored_remainder(a, b):
    rest = libdevice.fmod(a, b)
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)
)";
constexpr std::string_view kFloorDivide = R"(

@triton.jit
def floored_quotient(a, b):
    return tl.where(b == 0, a / b, libdevice.nearbyint((a - floored_remainder(a, b)) / b))
)";

// Bit by bit: counting takes one pass over what is in registers, whatever the line's length.
constexpr std::string_view kKeyOfRank = R"(

@triton.jit
def key_of_rank(keys, rank: tl.constexpr, axis: tl.constexpr, keep_dims: tl.constexpr):
    # The largest number that at most `rank` keys are below, one bit after the other, until so many are.
    below = tl.sum((keys < 0).to(tl.int32), axis=axis, keep_dims=True)
    found = tl.where(below <= rank, 0, -2147483648)
    below = tl.where(below <= rank, below, 0)
    step = 1 << 30
    while (step > 0) & (tl.min(below) < rank):
        higher = found + step
        count = tl.sum((keys < higher).to(tl.int32), axis=axis, keep_dims=True)
        found = tl.where(count <= rank, higher, found)
        below = tl.where(count <= rank, count, below)
        step = step >> 1
    return tl.min(tl.where(keys >= found, keys, 2147483647), axis=axis, keep_dims=keep_dims)
)";

// Most lines need a dozen counts until between `count` and `room` keys are below the bound.
constexpr std::string_view kPlacesByRank = R"(

@triton.jit
def places_by_rank(keys, columns, count: tl.constexpr, room: tl.constexpr, axis: tl.constexpr):
    # Where each element goes, so that the `count` smallest are among the first `room`: first those below a
    # bound, one bit after the other, that so many are below; if there is none, equal ones follow in order.
    below = tl.sum((keys < 0).to(tl.int32), axis=axis, keep_dims=True)
    least = tl.where(below < count, 0, -2147483648)
    bound = tl.zeros_like(below)
    vague = (below < count) | (below > room)
    step = 1 << 30
    while (step > 0) & (tl.max(vague.to(tl.int32)) > 0):
        bound = tl.where(vague, least + step, bound)
        below = tl.sum((keys < bound).to(tl.int32), axis=axis, keep_dims=True)
        vague = (below < count) | (below > room)
        least = tl.where(below < count, bound, least)
        step = step >> 1
    bound = tl.where(vague, least, bound)
    both = ((keys < bound).to(tl.int32) << 16) + (keys == bound).to(tl.int32)
    total = tl.sum(both, axis=axis, keep_dims=True)
    upto = tl.cumsum(both, axis=axis)
    smaller = upto >> 16
    equal = upto & 0xFFFF
    all_smaller = total >> 16
    behind = all_smaller + (total & 0xFFFF) + columns - smaller - equal
    return tl.where(keys < bound, smaller - 1, tl.where(keys == bound, all_smaller + equal - 1, behind))
)";

std::string CombineFunctions(const std::string& kernels) {
  std::string text;
  auto add = [&](const std::string& name, const std::string& parameters, const std::string& result) {
    if (kernels.find(fmt::format(", {})", name)) == std::string::npos &&
        kernels.find(fmt::format(", {},", name)) == std::string::npos)
      return;
    text += fmt::format("\n\n@triton.jit\ndef {}({}):\n    return {}\n", name, parameters, result);
  };
  const bool divides = kernels.find("floored_quotient(") != std::string::npos;
  if (divides || kernels.find("floored_remainder(") != std::string::npos) text += kRemainder;
  if (divides) text += kFloorDivide;
  if (kernels.find("key_of_rank(") != std::string::npos) text += kKeyOfRank;
  if (kernels.find("places_by_rank(") != std::string::npos) text += kPlacesByRank;
  text += SortFunctions(kernels);
  add("multiply", "a, b", "a * b");
  add("multiply_keeping_zero", "a, b", ProductKeepingZero("a", "b"));
  add("add_exponentials", "a, b", SumOfExponentials("a", "b"));
  add("larger", "a, b", "tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)");
  add("smaller", "a, b", "tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)");
  std::vector<std::string> a = {"a0"}, b = {"b0"}, sums = {"a0 + b0"};
  for (int n = 2; n <= 4; ++n) {  // sums of several tensors at once
    a.push_back(fmt::format("a{}", n - 1));
    b.push_back(fmt::format("b{}", n - 1));
    sums.push_back(a.back() + " + " + b.back());
    add(fmt::format("add_each_of_{}", n), fmt::format("{}, {}", fmt::join(a, ", "), fmt::join(b, ", ")),
        fmt::format("{}", fmt::join(sums, ", ")));
  }
  return text;
}

std::string FunctionText(const std::string& name, const std::vector<std::string>& params,
                         const std::string& body) {
  std::string line = fmt::format("def {}({}):\n", name, fmt::join(params, ", "));
  if (line.size() > 100) line = fmt::format("def {}(\n    {},\n):\n", name, fmt::join(params, ",\n    "));
  return line + body;
}

std::string KernelText(const std::string& name, TileCode& code, const std::vector<std::string>& constants,
                       const std::string& body, const std::string& counter) {
  std::vector<std::string> params;
  for (PrimId id : code.pointers()) params.push_back(code.Pointer(id));
  if (!counter.empty()) params.push_back(counter);
  for (const std::string& constant : constants) params.push_back(constant + ": tl.constexpr");
  // One kernel serves all its values: Triton would make others for 1 and for multiples of 16.
  const std::string plain = counter.empty() ? "" : fmt::format("(do_not_specialize=[\"{}\"])", counter);
  return "@triton.jit" + plain + "\n" + FunctionText(name, params, body);
}

void TakeApart(const std::string& x, Lines* lines, bool finite) {
  auto add = [&](const char* text) { lines->Add(fmt::format(fmt::runtime(text), fmt::arg("x", x))); };
  add("{x}_high = {x}.to(tl.bfloat16)");
  add(finite ? "{x}_rest = {x} - {x}_high.to(tl.float32)"
             : "{x}_rest = tl.where(tl.abs({x}_high.to(tl.float32)) < float(\"inf\"), {x} - "
               "{x}_high.to(tl.float32), 0.0)");
  add("{x}_middle = {x}_rest.to(tl.bfloat16)");
  add("{x}_low = ({x}_rest - {x}_middle.to(tl.float32)).to(tl.bfloat16)");
}

// Products of two parts that begin 24 places or more behind the largest are left out. The small ones come
// first, or have a sum of their own: what tensor cores cut off behind a sum's last place does not count
// there.
void AddDotsOfParts(const std::string& a, const std::string& b, const std::string& rest,
                    const std::string& sum, Lines* lines) {
  for (size_t places = std::size(kPartNames) - 1; places > 0; --places) {
    for (size_t of_a = places + 1; of_a-- > 0;)
      lines->Add(fmt::format("{0} = tl.dot({1}_{2}, {3}_{4}, {0})", rest, a, kPartNames[of_a], b,
                             kPartNames[places - of_a]));
  }
  lines->Add(fmt::format("{0} = tl.dot({1}_high, {2}_high, {0})", sum, a, b));
}

std::vector<std::string> Operators(const Graph& graph, const Group& group) {
  std::vector<std::string> names;
  for (PrimId member : group.members) {
    const std::string& name = graph[member].origin;
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string OperatorList(const Graph& graph, const Group& group) {
  std::vector<std::string> names = Operators(graph, group);
  if (names.empty()) return "a copy";
  std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string DotsText(const std::string& precision) {
  return (precision == "tf32" ? "TF32" : precision) + " dots";
}

// Whether a pointwise kernel rather goes by lines of the last dimension, which divide an element's number for
// a line at a time. What all of a line reads at one place is divided for in no time either way; and lines
// fill tiles of a power of two, the less of them the more there is to divide by
// (docs/log/2026-11-30-speeds.md).
static bool RatherInLines(const KernelCode& flat, int64_t length) {
  constexpr int64_t kShort = 32, kLong = 4096;
  constexpr size_t kSome = 2, kMany = 4;
  const int64_t tile = NextPowerOf2(length);
  return flat.divides_lines && length >= kShort && length <= kLong &&
         ((flat.divisions >= kSome && 4 * length >= 3 * tile) ||
          (flat.divisions >= kMany && 16 * length >= 9 * tile));
}

KernelCode WriteKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                       const KernelOptions& options, const std::string& name) {
  const PrimKind first = graph[group.members[0]].kind;
  if (first == PrimKind::kAttention) return WriteAttentionKernel(graph, group, buffers, options, name);
  if (group.kind == GroupKind::kMatmul) return WriteMatmulKernel(graph, group, buffers, options, name);
  if (first == PrimKind::kWaves) return WriteWaveKernel(graph, group, buffers, name);
  if (first == PrimKind::kFactor) return WriteFactorKernel(graph, group, buffers, name);
  if (group.kind == GroupKind::kAlone) return WriteRecurrentKernel(graph, group, buffers, options, name);
  if (const auto tiles = InTiles(graph, group)) return WriteTileKernel(graph, *tiles, buffers, name);
  if (!options.persistent && options.rows_per_program == 0 && !options.row_loop) {
    if (const auto lines = WindowLines(graph, group)) return WriteTileKernel(graph, *lines, buffers, name);
  }
  if (group.kind == GroupKind::kRows) return WriteRowKernel(graph, group, buffers, options, name);
  if (group.kind == GroupKind::kSideBySide)
    return WriteSideBySideKernel(graph, group, buffers, options, name);
  KernelCode flat = WriteFlatKernel(graph, group, buffers, options, name);
  const bool may = !options.simple && !options.persistent && options.flat_block == KernelOptions{}.flat_block;
  if (group.kind == GroupKind::kScatter || !(options.flat_rows || (may && flat.divides_lines))) return flat;
  // The last dimension of the largest member as columns, where every member can be cut there.
  const PrimId largest = group.members.back();
  const auto rows = CutLastDimension(graph, group, group.InOrder(largest, graph.Whole(largest)).sizes);
  if (!rows || rows->Size(AxisKind::kRow) <= 1) return flat;
  if (!options.flat_rows && !RatherInLines(flat, rows->Size(AxisKind::kColumn))) return flat;
  return WriteRowKernel(graph, *rows, buffers, options, name);
}

std::string GridText(int64_t size, const std::string& text, int64_t block, bool persistent) {
  if (persistent) block *= 2;
  if (persistent && CeilDiv(size, block) > 4 * kProcessors) return fmt::format("{}", 4 * kProcessors);
  return block == 1 ? text : fmt::format("triton.cdiv({}, {})", text, block);
}

std::string PrecisionOf(const Prim& product, const KernelOptions& options, const char* otherwise) {
  if (product.tf32) return "tf32";
  return options.precision.empty() ? otherwise : options.precision;
}

int64_t Fit(int64_t wished, int64_t size) {
  return std::clamp<int64_t>(NextPowerOf2(size), 16, wished);
}

int64_t NextPowerOf2(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

}  // namespace tritogen::teach
