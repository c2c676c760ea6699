// Matrix products in tiles, with whatever is fused behind them computed on the accumulator.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/rounding.h"
#include "program/triton_dtype.h"
#include "teach/count_text.h"
#include "teach/factor_descriptor.h"
#include "teach/kept_band.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"
#include "teach/product_tiles.h"
#include "teach/reduce_tile.h"

namespace tritogen::teach {
namespace {

class MatmulWriter {
 public:
  MatmulWriter(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
               const ProductTiles& tiles, const KernelOptions& options)
      : graph_(graph), group_(group), t_(tiles), options_(options), code_(graph, group, buffers) {}

  void Write() {
    for (const char* used :
         {"pid", "batch", "pid_m",   "pid_n",   "offs_m",  "offs_n",     "offs_k",  "acc",
          "a",   "b",     "start",   "num_m",   "num_n",   "group_size", "first_m", "M",
          "N",   "K",     "BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M",    "part",    "chunk"}) {
      code_.Name(used);
    }
    if (graph_[group_.members[0]].parts > 1) {
      for (const char* used :
           {"rest", "a_high", "a_middle", "a_low", "b_high", "b_middle", "b_low", "a_rest", "b_rest"})
        code_.Name(used);
    }
    if (graph_[group_.members[0]].taps > 0) {
      for (const char* used : {"step", "tap"}) code_.Name(used);
    }
    if (t_.programs > 0) {
      for (const char* used : {"tile", "BATCH"}) code_.Name(used);
      lines_ = Lines(Depth());
    } else {  // a loop over tiles is one with that over k, which all have
      if (t_.m > t_.block_m || t_.n > t_.block_n) kept_ = KeptOf(graph_, group_);
      if (!kept_.All()) code_.Name("end");
    }
    code_.body = code_.outer = &lines_;
    ProgramIds();
    const PrimId product = group_.members[0];
    graph_[product].taps > 0 ? OuterProducts() : Dot();
    Axes tile;
    for (const Segment& segment : group_.domain) tile.Add(segment.axis);
    code_.Bind(product, "acc", Dtype::kFloat32, tile);
    if (group_.members.size() > 1) lines_.Add("# What follows the product works on the tile in registers.");
    for (size_t i = 1; i < group_.members.size(); ++i) {
      if (graph_[group_.members[i]].kind != PrimKind::kTileReduce) code_.Member(group_.members[i]);
    }
    for (PrimId member : group_.stores) {
      if (graph_[member].kind == PrimKind::kTileReduce) {
        reductions_.Write(member, &lines_);
      } else {
        code_.Store(member);
      }
    }
  }

  TileCode& code() { return code_; }
  std::string text() const { return head_.text() + lines_.text(); }
  const std::vector<KernelCode::Descriptor>& descriptors() const { return descriptors_; }

 private:
  void ProgramIds() {
    const char* wide = code_.wide() ? ".to(tl.int64)" : "";
    if (t_.programs == 0) head_.Add(fmt::format("pid = tl.program_id(0){}", wide));
    head_.Add("num_m = tl.cdiv(M, BLOCK_M)");
    head_.Add("num_n = tl.cdiv(N, BLOCK_N)");
    if (t_.programs > 0) {
      head_.Add(
          "# As many programs as there is room for: a program's next tile is on its way while it stores this "
          "one.");
      head_.Add(fmt::format(
          "for tile in tl.range(tl.program_id(0), {}num_m * num_n, tl.num_programs(0), flatten=True):",
          t_.batch > 1 ? "BATCH * " : ""));
      lines_.Add(fmt::format("pid = tile{}", wide));
    }
    if (t_.batch > 1) {
      lines_.Add("batch = pid // (num_m * num_n)");
      lines_.Add("pid = pid % (num_m * num_n)");
    }
    lines_.Add(
        "# Programs that run together share rows of the first operand and columns of the second in L2.");
    lines_.Add("first_m = pid // (GROUP_M * num_n) * GROUP_M");
    lines_.Add("group_size = min(num_m - first_m, GROUP_M)");
    lines_.Add("pid_m = first_m + pid % (GROUP_M * num_n) % group_size");
    lines_.Add("pid_n = pid % (GROUP_M * num_n) // group_size");
    lines_.Add("offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]");
    lines_.Add("offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]");
    code_.axes[AxisKind::kBatch] = {"batch", ""};
    code_.axes[AxisKind::kM] = {"offs_m", t_.m % t_.block_m != 0 ? "(offs_m < M)" : ""};
    code_.axes[AxisKind::kN] = {"offs_n", t_.n % t_.block_n != 0 ? "(offs_n < N)" : ""};
  }

  void Dot() {
    const Prim& product = graph_[group_.members[0]];
    auto axes = code_.axes;
    Lines inner(Depth() + (t_.sum < t_.k ? 2 : 1));
    inner.Add("offs_k = start + tl.arange(0, BLOCK_K)");
    code_.body = &inner;
    const std::vector<std::string> loaded = NamesOf(product);
    for (size_t i = 0; i < product.operands.size(); ++i) {
      const std::string value = TileOf(product, i);  // what it takes comes first
      inner.Add(fmt::format("{} = {}", loaded[i], value));
    }
    for (size_t factor : {0, 1}) {
      if (product.TakesApart(factor)) TakeApart(factor == 0 ? "a" : "b", &inner);
    }
    code_.body = &lines_;
    Multiply(product, &inner);
    Loops(product, inner);
    code_.axes = axes;
  }

  // A column of the first factor times a row of the second, for one element of k after the other.
  void OuterProducts() {
    const Prim& product = graph_[group_.members[0]];
    const auto axes = code_.axes;
    const bool steps = t_.k > t_.block_k;
    Lines loop(Depth() + (steps ? 1 : 0)), inner(Depth() + (steps ? 2 : 1));
    code_.axes[AxisKind::kColumn] = {steps ? "step" : "", ""};
    code_.axes[AxisKind::kFlat] = {"tap", ""};
    code_.body = &inner;
    for (const size_t i : {0, 1}) {
      inner.Add(
          fmt::format("{} = {}", i == 0 ? "a" : "b", ElementsOf(product, i, OperandDomain(product, i)).text));
    }
    inner.Add("acc += a * b");
    code_.body = &lines_;
    lines_.Add("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)");
    if (steps) lines_.Add("for step in range(0, K // BLOCK_K):");
    // What is written out has no dtype that it could be converted from.
    loop.Add(fmt::format("for tap in {}(BLOCK_K):", code_.wide() ? "range" : "tl.static_range"));
    lines_.AddDeeper(loop);
    lines_.AddDeeper(inner);
    code_.axes = axes;
  }

  struct Elements {
    std::string text;
    Axes axes;  // that it has
  };

  // Of an operand, on the axes of this domain.
  Elements ElementsOf(const Prim& product, size_t operand, const std::vector<Segment>& domain) {
    const View& view = product.operands[operand];
    if (view.prim < 0 || !graph_[view.prim].inlined) {
      const TileCode::Place place = code_.PlaceOf(view, domain, false);
      return {code_.Load(view, place), place.axes};
    }
    code_.BeginOperand(domain);
    const std::string value = code_.Read(view, false, product.compute[operand]);
    const Axes axes = code_.AxesOf(view.prim);
    code_.EndOperand();
    return {value, axes};
  }

  // Of an operand, for one step along k.
  std::string TileOf(const Prim& product, size_t operand) {
    const View& view = product.operands[operand];
    const size_t factor = product.Factor(operand);
    const char* index = factor == 0 ? "offs_k[None, :]" : "offs_k[:, None]";
    const std::vector<Segment> domain = OperandDomain(product, operand);
    const std::string mask = t_.k % t_.block_k != 0 ? fmt::format("({} < K)", index) : "";
    code_.axes[AxisKind::kFlat] = {index, mask};
    if (const auto described = Described(operand)) return LoadOf(operand, *described);
    auto [value, axes] = ElementsOf(product, operand, domain);
    if (view.prim >= 0 && graph_[view.prim].inlined) {
      // Past the end of k only zeros may be added, which a load along k gives by itself.
      const Prim& prim = graph_[view.prim];
      const bool zeros = prim.kind == PrimKind::kLoad && IsFloating(prim.dtype) &&
                         (prim.other.empty() || prim.other == "0.0") && axes.Has(AxisKind::kFlat);
      if (!mask.empty() && !zeros) {
        axes.Add(AxisKind::kFlat);
        value =
            fmt::format("tl.where({}, {}, 0.0).to({})", mask, value, TritonDtype(product.compute[operand]));
      }
    }
    // A dot wants whole tiles, also of what is the same in all rows or columns.
    bool full = true;
    for (const Segment& segment : domain) full &= segment.axis == AxisKind::kBatch || axes.Has(segment.axis);
    if (full) return value;
    return fmt::format("tl.broadcast_to({}, ({}))", value,
                       factor == 0 ? "BLOCK_M, BLOCK_K" : "BLOCK_K, BLOCK_N");
  }

  void Multiply(const Prim& product, Lines* inner) const {
    const char* sum = t_.sum < t_.k ? "part" : "acc";
    if (product.parts > 1) return AddDotsOfParts("a", "b", "rest", sum, inner);
    const std::string precision =
        MultipliesFloat32(product) ? fmt::format(", input_precision=\"{}\"", DotPrecision(product, options_))
                                   : "";
    inner->Add(fmt::format("{0} = tl.dot(a, b, {0}{1})", sum, precision));
  }

  // By operand.
  static std::vector<std::string> NamesOf(const Prim& product) {
    std::vector<std::string> names;
    for (size_t factor : {0, 1}) {
      const std::string name = factor == 0 ? "a" : "b";
      if (product.parts == 1 || product.TakesApart(factor)) {
        names.push_back(name);
      } else {
        for (const char* part : kPartNames) names.push_back(fmt::format("{}_{}", name, part));
      }
    }
    return names;
  }

  int Depth() const { return t_.programs > 0 ? 2 : 1; }

  void Loops(const Prim& product, const Lines& inner) {
    lines_.Add("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)");
    if (product.parts > 1) lines_.Add("rest = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)");
    if (!kept_.All()) EndOfTriangle();
    if (t_.sum < t_.k) {
      SumsOfSums(inner);
    } else {
      lines_.Add(fmt::format("for start in range(0, {}, BLOCK_K):", EndOfSum()));
      lines_.AddDeeper(inner);
    }
    if (product.parts > 1) lines_.Add("acc += rest");
  }

  const char* EndOfSum() const { return kept_.All() ? "K" : "end"; }

  void EndOfTriangle() {
    const auto behind = [](int64_t offset) {
      return offset == 0 ? "" : fmt::format(" {} {}", offset < 0 ? '-' : '+', std::abs(offset));
    };
    std::string some;
    if (kept_.ahead) some = fmt::format("pid_n * BLOCK_N < (pid_m + 1) * BLOCK_M{}", behind(*kept_.ahead));
    if (kept_.behind) {
      const std::string below =
          fmt::format("pid_m * BLOCK_M < (pid_n + 1) * BLOCK_N{}", behind(*kept_.behind));
      some = some.empty() ? below : fmt::format("({}) & ({})", some, below);
    }
    lines_.Add("# Of a tile that is zero throughout nothing is multiplied.");
    lines_.Add(fmt::format("end = tl.where({}, K, 0)", some));
  }

  void SumsOfSums(const Lines& inner) {
    Lines chunk(Depth() + 1);
    chunk.Add("part = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)");
    const bool whole = t_.k % t_.sum == 0;
    chunk.Add(
        fmt::format("for start in range(chunk, {}, BLOCK_K):",
                    whole ? fmt::format("chunk + {}", t_.sum) : fmt::format("min(chunk + {}, K)", t_.sum)));
    chunk.AddDeeper(inner);
    chunk.Add("acc += part");
    lines_.Add(fmt::format("# Sums of {} columns are added up: rounding errors grow with the terms of a sum.",
                           t_.sum));
    lines_.Add(fmt::format("for chunk in range(0, {}, {}):", EndOfSum(), t_.sum));
    lines_.AddDeeper(chunk);
  }

  std::optional<FactorDescriptor> Described(size_t operand) const {
    if (!options_.descriptors) return std::nullopt;
    return DescribeFactor(graph_, group_, operand, t_.block_k);
  }

  // Tile of (m or n, k) that this step multiplies.
  std::string LoadOf(size_t operand, const FactorDescriptor& factor) {
    const PrimId id = graph_[group_.members[0]].operands[operand].prim;
    const bool second = graph_[group_.members[0]].Factor(operand) == 1, along_k = second && !factor.turned;
    const std::string pointer = code_.Pointer(id);
    const auto& pointers = code_.pointers();
    const int64_t across = second ? t_.block_n : t_.block_m;
    descriptors_.push_back(
        {static_cast<size_t>(std::find(pointers.begin(), pointers.end(), id) - pointers.begin()),
         fmt::format("{}, {}", factor.rows, factor.columns),
         along_k ? fmt::format("[{}, {}]", t_.block_k, across)
                 : fmt::format("[{}, {}]", across, t_.block_k)});
    const char *tile = second ? "pid_n * BLOCK_N" : "pid_m * BLOCK_M", *size = second ? "N" : "M";
    std::string row = along_k ? "start" : tile, column = along_k ? tile : "start";
    if (factor.by_batch) row = fmt::format("batch * {} + {}", along_k ? "K" : size, row);
    // Its places are 32 bits wide.
    if (code_.wide()) {
      for (std::string* place : {&row, &column})
        if (*place != "start") *place = fmt::format("({}).to(tl.int32)", *place);
    }
    return fmt::format("{}.load([{}, {}]){}", pointer, row, column, factor.turned ? ".T" : "");
  }

  const Graph& graph_;
  const Group& group_;
  ProductTiles t_;
  Band kept_;
  const KernelOptions& options_;
  TileCode code_;
  TileReductions reductions_{graph_, group_, &code_};
  Lines head_, lines_;  // behind it, deeper in a loop over tiles
  std::vector<KernelCode::Descriptor> descriptors_;
};

}  // namespace

KernelCode WriteMatmulKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                             const KernelOptions& options, const std::string& name) {
  const Prim& product = graph[group.members[0]];
  TRITOGEN_CHECK(product.kind == PrimKind::kMatmul);
  const ProductTiles t = ChooseTiles(graph, group, options);
  MatmulWriter writer(graph, group, buffers, t, options);
  writer.Write();
  KernelCode kernel;
  kernel.name = name;
  kernel.pointers = writer.code().pointers();
  kernel.descriptors = writer.descriptors();
  std::vector<std::string> constants = {"M", "N", "K", "BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M"};
  const bool batches = t.programs > 0 && t.batch > 1;
  if (batches) constants.insert(constants.begin(), "BATCH");
  kernel.source = KernelText(name, writer.code(), constants, writer.text());
  const std::vector<Segment> domain = OperandDomain(product, 0);
  const std::vector<int64_t> rows = FactorsOf(domain, AxisKind::kM),
                             columns = FactorsOf(group.domain, AxisKind::kN),
                             inner = FactorsAt(product.operands[0].sizes, 1, t.k);
  const std::string m = CountText(rows);
  const std::string batch = CountText(FactorsOf(domain, AxisKind::kBatch));
  kernel.grid = fmt::format("{}triton.cdiv({}, {}) * triton.cdiv({}, {})", t.batch > 1 ? batch + " * " : "",
                            m, t.block_m, CountText(columns), t.block_n);
  kernel.constants = fmt::format("M={}, N={}, K={}, BLOCK_M={}, BLOCK_N={}, BLOCK_K={}, GROUP_M=8", m,
                                 CountText(columns), CountText(inner), t.block_m, t.block_n, t.block_k);
  if (batches) kernel.constants = fmt::format("BATCH={}, {}", batch, kernel.constants);
  if (t.programs > 0) kernel.grid = fmt::format("{}", t.programs);
  const std::string k = CountOperand(inner);
  kernel.num_warps = t.num_warps;
  kernel.num_stages = t.num_stages;
  kernel.access = fmt::format("product of {}×{} and {}×{}{}; operands are read through their strides{}",
                              CountOperand(rows), k, k, CountOperand(columns),
                              t.batch > 1 ? fmt::format(", {} times", batch) : "",
                              product.tf32 ? "" : ", so a transposed one needs no copy");
  kernel.launch =
      fmt::format("{} for each {}×{} tile of the result, grouped for L2, grid {}",
                  t.programs > 0 ? "programs in turn" : "one program", t.block_m, t.block_n, kernel.grid);
  kernel.compute =
      fmt::format("accumulate in float32 over {} columns at a time{}, then {} on the tile", t.block_k,
                  product.taps > 0             ? " (outer products, too little work for tensor cores)"
                  : product.parts > 1          ? " (six dots of bfloat16 parts)"
                  : MultipliesFloat32(product) ? " (" + DotsText(DotPrecision(product, options)) + ")"
                                               : "",
                  OperatorList(graph, group));
  return kernel;
}

}  // namespace tritogen::teach
