#include "teach/teacher.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/splitmix.h"
#include "teach/lower.h"
#include "teach/module.h"
#include "teach/placed_parts.h"
#include "teach/product_tiles.h"
#include "teach/rewrite.h"
#include "teach/row_sums.h"
#include "teach/tile_moments.h"
#include "teach/tile_reductions.h"
#include "teach/updates.h"

namespace tritogen::teach {
namespace {

using Products = LowerOptions::Products;

struct Strategy {
  std::string name;
  KernelOptions kernel;
  LowerOptions lower;
  bool turns = true;      // Partition's
  bool attention = true;  // is one kernel
};

// The same with more programs in each wave, or fewer where there are many.
Strategy OtherWaves(Strategy strategy, const Prim& waves) {
  const bool many = waves.layers * waves.sizes.back() / waves.columns > kManyPrograms;
  strategy.name = many ? "waves of eight columns" : "waves of two columns";
  strategy.lower.wave_columns = many ? 8 : 2;
  return strategy;
}

// Which dtypes a program has products in that are worth copies of their factors; `cut`: of float32, where
// TF32 dots are allowed, `cut_matrices`: among them some that are no convolutions.
struct LargeProducts {
  bool single = false, half = false, cut = false, cut_matrices = false;
};

std::string_view OperatorOf(const Program& program, const Prim& prim) {
  return prim.line < 0 ? std::string_view() : program.nodes[prim.line].op;
}

// Of a prim that multiplies float32.
bool MayBeCut(const Program& program, const Prim& prim, Fp32Precision precision) {
  return AllowsTf32(precision, OperatorOf(program, prim));
}

std::vector<Strategy> OfLargeProducts(LargeProducts large, Fp32Precision precision) {
  const LowerOptions split{.products = Products::kBfloat16Parts},
      tf32{.products = Products::kTf32, .fp32_precision = precision},
      copies{.products = Products::kTf32OfCopies, .fp32_precision = precision};
  const KernelOptions tiles{.tile_m = 128, .tile_n = 128, .tile_k = 32}, described{.descriptors = true},
      persistent{.descriptors = true, .persistent_products = true};
  if (!large.single)
    return {{"persistent products", persistent, split},
            {"large tiles", {}, split},
            {"persistent products, copies by themselves", persistent, split, false}};
  std::vector<Strategy> all = {{"products of bfloat16 parts", {}, split},
                               {"products of bfloat16 parts, one sum", {.one_sum = true}, split},
                               {"products of bfloat16 parts, parts by themselves", {}, split, false}};
  if (!large.cut) return all;
  std::vector<Strategy> cut = {{"TF32 products", described, tf32},
                               {"TF32 products, pointers", {}, tf32},
                               {"TF32 products, tiles 128x128x32", tiles, tf32},
                               {"TF32 products, all factors rounded", {}, copies},
                               {"TF32 products, copies by themselves", {}, tf32, false}};
  // Of convolutions only the weights can be described. On an H200 15 of 20 tasks were quicker without, three
  // slower.
  if (!large.cut_matrices) std::swap(cut[0], cut[1]);
  all.insert(all.begin(), cut.begin(), cut.end());
  return all;
}

// The ways to write a program, most promising first. `graph` and `groups`: of the form that is varied, fused
// or, where it is to be `simple`, a kernel for each operation.
std::vector<Strategy> Strategies(const Graph& graph, const std::vector<Group>& groups, const Request& request,
                                 LargeProducts large_products, bool attention) {
  const bool simple = request.simple;
  bool flat = false, rows = false, product = false, single = false, outer = false, recurrent = false,
       exact = false;  // has products of float32 that may not be cut
  const Prim* waves = nullptr;
  for (const Group& group : groups) {
    flat |= group.kind == GroupKind::kFlat || group.kind == GroupKind::kScatter;
    rows |= group.kind == GroupKind::kRows;
    product |= group.kind == GroupKind::kMatmul;
    const Prim& first = graph[group.members[0]];
    if (first.kind == PrimKind::kWaves) waves = &first;
    recurrent |= first.kind == PrimKind::kRecurrent;
    outer |= first.taps > 0;
    const bool float32 = group.kind == GroupKind::kMatmul && first.compute[0] == Dtype::kFloat32;
    single |= float32;
    exact |= (float32 || first.IsAlone()) && !MayBeCut(*request.program, first, request.fp32_precision);
  }
  // Simple kernels, for who has to learn to write them; and where a fused one is too large for the machine.
  const Strategy apart{"a kernel for each operation", {}, {.apart = true}};
  std::vector<Strategy> all = {{"fused", {}, {}}, apart};
  if (large_products.single || large_products.half) {
    const std::vector<Strategy> large = OfLargeProducts(large_products, request.fp32_precision);
    all.insert(all.begin(), large.begin(), large.end());
  } else if (!exact && !simple && (single || recurrent)) {
    all.insert(all.begin() + 1,
               {"TF32 dots", {.precision = "tf32"}, {}});  // of small products little is gained
  }
  auto add = [&](const char* name, auto change) {
    Strategy strategy{simple ? fmt::format("{}, {}", apart.name, name) : name, {}, {.apart = simple}};
    change(strategy);
    all.push_back(std::move(strategy));
  };
  if (attention && !simple) {
    Strategy stored = all.front();
    stored.name = "attention in three kernels";
    stored.attention = false;
    all.push_back(std::move(stored));
  }
  if (waves != nullptr) {
    // Their launches are most of the time: another number of programs comes before other products.
    all.insert(all.begin() + 1, OtherWaves(all.front(), *waves));
    add("sequence per program", [](Strategy& s) { s.lower.waves = LowerOptions::Waves::kNever; });
  }
  if (recurrent) add("layers in waves", [](Strategy& s) { s.lower.waves = LowerOptions::Waves::kAlways; });
  if (product && !request.strict)
    add("products by PyTorch", [](Strategy& s) { s.lower.keep_products = true; });
  if (outer)
    add("convolutions by dots",
        [](Strategy& s) { s.lower.outer_products = false, s.lower.products = Products::kBfloat16Parts; });
  if (single) add("exact dots", [](Strategy& s) { s.kernel.precision = "ieee"; });
  if (single) add("tf32x3 dots", [](Strategy& s) { s.kernel.precision = "tf32x3"; });
  if (product)
    add("tiles 64x64x32", [](Strategy& s) { s.kernel.tile_m = s.kernel.tile_n = 64, s.kernel.tile_k = 32; });
  if (rows) add("row per program", [](Strategy& s) { s.kernel.rows_per_program = 1; });
  if (rows) add("walk along rows", [](Strategy& s) { s.kernel.row_loop = true, s.kernel.row_block = 512; });
  if (flat) add("rows of the last dimension", [](Strategy& s) { s.kernel.flat_rows = true; });
  if (flat || rows) add("persistent programs", [](Strategy& s) { s.kernel.persistent = true; });
  if (product) add("tensor descriptors", [](Strategy& s) { s.kernel.descriptors = true; });
  if (flat) add("BLOCK=256", [](Strategy& s) { s.kernel.flat_block = 256; });
  if (product)
    add("tiles 128x64x32",
        [](Strategy& s) { s.kernel.tile_m = 128, s.kernel.tile_n = 64, s.kernel.tile_k = 32; });
  if (rows) add("four rows per program", [](Strategy& s) { s.kernel.rows_per_program = 4; });
  if (flat) add("BLOCK=4096", [](Strategy& s) { s.kernel.flat_block = 4096, s.kernel.num_warps = 8; });
  if (rows) add("one stage reductions", [](Strategy& s) { s.lower.cuts = LowerOptions::Cuts::kNone; });
  return all;
}

// Small flat kernels do, but for where kernels are to be simple and where flat ones are written in another
// way.
bool SharesLaunches(const Strategy& strategy) {
  return !strategy.lower.apart && !strategy.kernel.flat_rows && !strategy.kernel.persistent;
}

// Random numbers that depend on no tensor are PyTorch's, or they would be others: no work of the program's.
// What is made of no tensor, and the parts of a complex one, are calls that compute nothing.
bool AllInTriton(const Program& program, const Graph& graph, const std::vector<Group>& groups) {
  return std::none_of(groups.begin(), groups.end(), [&](const Group& g) {
    if (g.kind != GroupKind::kCall) return false;
    const Prim& call = graph[g.members[0]];
    return !call.operands.empty() && program.nodes[call.node.id].op != "aten::view_as_real";
  });
}

bool AnyInTriton(const std::vector<Group>& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const Group& g) { return g.kind != GroupKind::kCall; });
}

bool IsLargeProduct(const Prim& prim) {
  return prim.kind == PrimKind::kMatmul && !prim.inlined &&
         prim.flops * static_cast<double>(Product(prim.sizes)) >= kFlopsWorthStoring;
}

bool HasLargeHalf(const Graph& graph) {
  return std::ranges::any_of(
      graph.prims, [](const Prim& prim) { return IsLargeProduct(prim) && IsHalf(prim.compute[0]); });
}

bool ReadsCopies(const Graph& graph, const Prim& prim) {
  return std::ranges::any_of(prim.operands, [&](const View& view) {
    return view.prim >= 0 && graph[view.prim].IsElementwise() && graph[view.prim].once;
  });
}

// REQUIRES: products of float32 that are large enough are made of parts.
LargeProducts LargeIn(const Program& program, const Graph& graph, Fp32Precision precision) {
  LargeProducts large{.half = HasLargeHalf(graph)};
  for (const Prim& prim : graph.prims) {
    const bool parts = prim.parts > 1, whole = IsLargeProduct(prim) && MultipliesFloat32(prim);
    const bool cut = (parts || whole) && MayBeCut(program, prim, precision);
    large.single |= parts || cut || (whole && ReadsCopies(graph, prim));
    large.cut |= cut;
    large.cut_matrices |= cut && !IsConvolution(OperatorOf(program, prim));
  }
  return large;
}

std::optional<Partitioned> Prepare(const Program& program, const LowerOptions& options, bool turns = true) {
  auto graph = Lower(program, options);
  if (!graph) return std::nullopt;
  Partitioned prepared{InlineViews(*graph), {}};
  for (const View& view : prepared.graph.outputs) {
    if (view.prim < 0 || !view.guards.empty()) return std::nullopt;
  }
  prepared.groups = Partition(prepared.graph, turns);
  if (options.apart) return prepared;
  if (auto placed = PlaceParts(*graph, prepared, turns)) return placed;
  return prepared;
}

// What the strategy's kernels say of the work, which the graph alone does not.
Partitioned ForKernels(Partitioned prepared, const Strategy& strategy) {
  const LowerOptions& options = strategy.lower;
  if (!options.apart) {
    if (auto moments = MomentsInTiles(prepared.graph, prepared.groups, strategy.kernel, strategy.turns))
      prepared = *std::move(moments);
    if (auto reduced = ReduceInTiles(prepared.graph, prepared.groups, strategy.kernel, strategy.turns))
      prepared = *std::move(reduced);
    if (auto summed = SumInRows(prepared.graph, prepared.groups, strategy.kernel, strategy.turns))
      prepared = *std::move(summed);
  }
  if (options.UsesTf32() || (options.products != Products::kAsTheyAre && HasLargeHalf(prepared.graph)))
    prepared.groups = TurnCopies(prepared.graph, std::move(prepared.groups));
  StoreUpdates(prepared.groups, &prepared.graph);
  if (SharesLaunches(strategy)) prepared.groups = SideBySide(prepared.graph, prepared.groups);
  return prepared;
}

std::vector<Answer> AnswersTo(const Request& request) {
  const std::vector<NodeId> attention = AttentionOf(*request.program);
  // Into how many elements a line is cut is a division that who learns from answers would have to do.
  const auto cuts = request.simple ? LowerOptions::Cuts::kBetweenDimensions : LowerOptions::Cuts::kAnywhere;
  const LowerOptions fused{.cuts = cuts, .attention = attention};
  auto first = Prepare(*request.program, fused);
  if (!first || !AnyInTriton(first->groups) ||
      (request.strict && !AllInTriton(*request.program, first->graph, first->groups)))
    return {};
  auto varied = request.simple ? Prepare(*request.program, {.cuts = cuts, .apart = true}) : first;
  if (!varied) varied = first;
  LargeProducts large;
  if (!request.simple) {
    const auto split =
        Prepare(*request.program, {.products = Products::kBfloat16Parts,
                                   .outer_products = request.fp32_precision == Fp32Precision::kIeee,
                                   .attention = attention});
    if (split) large = LargeIn(*request.program, split->graph, request.fp32_precision);
  }
  std::vector<Answer> answers;
  std::set<std::string> seen;
  for (Strategy& strategy : Strategies(varied->graph, varied->groups, request, large, !attention.empty())) {
    if (static_cast<int>(answers.size()) == request.count) break;
    if (strategy.attention && !strategy.lower.apart) strategy.lower.attention = attention;
    // Whether a mask can be left out is long division, which who learns from answers cannot do in their head;
    // and a network's functions are longer than all that they have to say of a sort.
    strategy.kernel.simple = request.simple;
    if (request.simple && strategy.lower.cuts != LowerOptions::Cuts::kNone) strategy.lower.cuts = cuts;
    const bool as_first = strategy.lower == fused && strategy.turns;
    auto prepared = as_first ? first : Prepare(*request.program, strategy.lower, strategy.turns);
    if (!prepared || !AnyInTriton(prepared->groups)) continue;
    prepared = ForKernels(*std::move(prepared), strategy);
    // The plain text tells whether this is another program than those before; the style is another matter.
    auto module = WriteModule(request, prepared->graph, prepared->groups, strategy.kernel, Style{});
    if (!module || !seen.insert(module->source).second) continue;
    if (request.seed != 0) {
      const Style style = StyleOf(SplitMix::At(request.seed, answers.size()));
      module = WriteModule(request, prepared->graph, prepared->groups, strategy.kernel, style);
    }
    answers.push_back({strategy.name, std::move(module->plan), std::move(module->source)});
  }
  return answers;
}

// The request for a program in which nodes have other numbers.
Request Renumbered(const Request& request, const RewrittenProgram& rewritten) {
  Request of_rewritten = request;
  of_rewritten.program = &rewritten.program;
  of_rewritten.strided.clear();
  for (NodeId id : request.strided) {
    if (const auto at = rewritten.renumbered.find(id); at != rewritten.renumbered.end())
      of_rewritten.strided.push_back(at->second);
  }
  of_rewritten.constants.clear();
  for (const auto& [id, text] : request.constants) {
    if (const auto at = rewritten.renumbered.find(id); at != rewritten.renumbered.end())
      of_rewritten.constants[at->second] = text;
  }
  return of_rewritten;
}

}  // namespace

std::vector<Answer> Teach(const Request& request) {
  // Who learns from answers shall find the program's own operations in them.
  const auto rewritten = request.simple || request.lines ? std::nullopt : Rewrite(*request.program);
  if (rewritten) {
    std::vector<Answer> answers = AnswersTo(Renumbered(request, *rewritten));
    if (!answers.empty()) return answers;
  }
  return AnswersTo(request);
}

}  // namespace tritogen::teach
