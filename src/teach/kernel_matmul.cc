// Matrix products in tiles, with whatever is fused behind them computed on the accumulator.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/rounding.h"
#include "program/triton_dtype.h"
#include "teach/count_text.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"

namespace tritogen::teach {
namespace {

// Columns that one sum takes in at the most, where a product is made of sums of sums.
constexpr int64_t kSum = 256;
constexpr int64_t kSumOnTensorCores = 128;  // which cut off what lies behind a sum's last place
constexpr double kManyFlops = 1 << 30;

// Multiplied as they are, not as parts.
bool MultipliesFloat32(const Prim& product) {
  return product.compute[0] == Dtype::kFloat32 && product.parts == 1;
}

struct Tiles {
  int64_t batch, m, n, k;
  int64_t block_m = 0, block_n = 0, block_k = 0;
  int64_t sum = 0;  // columns that are added up before they are added to others; k: all
  int num_warps = 0, num_stages = 3;

  double Products() const {
    return static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
};

// The largest tiles of which each multiprocessor has one, as far as the result has so many rows and columns;
// else small ones. Two programs of 128 by 128 share a multiprocessor, whose memory holds three steps of each.
Tiles ChooseForTf32(Tiles t, const KernelOptions& options) {
  constexpr int64_t kMostOfFourWarps = 128 * 128;
  int64_t block_m = 64, block_n = 64;
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{128, 256}, {128, 128}, {64, 128}}) {
    if (n == 256 && (t.m <= 64 || t.n <= 128)) continue;
    if (t.batch * CeilDiv(t.m, Fit(m, t.m)) * CeilDiv(t.n, Fit(n, t.n)) < kProcessors) continue;
    block_m = m, block_n = n;
    break;
  }
  t.block_m = Fit(options.tile_m > 0 ? options.tile_m : block_m, t.m);
  t.block_n = Fit(options.tile_n > 0 ? options.tile_n : block_n, t.n);
  t.block_k = Fit(options.tile_k > 0 ? options.tile_k : 32, t.k);
  t.sum = t.k;
  const int64_t tile = t.block_m * t.block_n;
  t.num_warps = options.num_warps > 0 ? options.num_warps : tile > kMostOfFourWarps ? 8 : 4;
  t.num_stages = tile == kMostOfFourWarps ? 3 : 4;
  return t;
}

Tiles Choose(const Prim& product, const Group& group, const KernelOptions& options, int64_t k) {
  Tiles t{group.Size(AxisKind::kBatch), group.Size(AxisKind::kM), group.Size(AxisKind::kN), k};
  if (product.tf32) return ChooseForTf32(t, options);
  bool half = !MultipliesFloat32(product);
  const bool deep_steps = half && product.parts == 1;  // all parts of a step lie in shared memory
  const int64_t deep = deep_steps ? 64 : 32;
  int64_t large = half ? 128 : 64, large_m = large, large_n = large;
  // Small products get small tiles, so that there are programs enough; what is taken apart in them is read by
  // few all the same.
  if (t.batch * CeilDiv(t.m, large) * CeilDiv(t.n, large) < kProcessors) {
    if (!product.TakesApart(1)) large_m /= 2;
    if (!product.TakesApart(0) || product.TakesApart(1)) large_n /= 2;
  }
  t.block_m = Fit(options.tile_m > 0 ? options.tile_m : large_m, t.m);
  t.block_n = Fit(options.tile_n > 0 ? options.tile_n : large_n, t.n);
  t.block_k = Fit(options.tile_k > 0 ? options.tile_k : deep, t.k);
  t.sum = k;
  // Rounding errors grow with the terms of a sum, and of many long ones some are far beyond what the
  // reference's, which are cut up, come to. Short programs stay as simple as they can be.
  if (product.parts > 1 && !options.one_sum) t.sum = kSumOnTensorCores;
  const bool many = k >= 2 * kSum && t.Products() >= kManyFlops / 2;
  if (MultipliesFloat32(product) && many) t.sum = kSum;
  if (t.sum >= k || t.sum % t.block_k != 0) t.sum = k;
  t.num_warps = options.num_warps > 0 ? options.num_warps : t.block_m * t.block_n >= 128 * 128 ? 8 : 4;
  return t;
}

class MatmulWriter {
 public:
  MatmulWriter(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
               const Tiles& tiles, const KernelOptions& options)
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
    code_.body = code_.outer = &lines_;
    ProgramIds();
    Dot();
    PrimId product = group_.members[0];
    Axes tile;
    for (const Segment& segment : group_.domain) tile.Add(segment.axis);
    code_.Bind(product, "acc", Dtype::kFloat32, tile);
    if (group_.members.size() > 1) lines_.Add("# What follows the product works on the tile in registers.");
    for (size_t i = 1; i < group_.members.size(); ++i) code_.Member(group_.members[i]);
    for (PrimId member : group_.stores) code_.Store(member);
  }

  TileCode& code() { return code_; }
  const std::string& text() const { return lines_.text(); }
  const std::vector<KernelCode::Descriptor>& descriptors() const { return descriptors_; }

 private:
  void ProgramIds() {
    lines_.Add(fmt::format("pid = tl.program_id(0){}", code_.wide() ? ".to(tl.int64)" : ""));
    lines_.Add("num_m = tl.cdiv(M, BLOCK_M)");
    lines_.Add("num_n = tl.cdiv(N, BLOCK_N)");
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
    const bool k_mask = t_.k % t_.block_k != 0;
    Lines inner(t_.sum < t_.k ? 3 : 2);
    inner.Add("offs_k = start + tl.arange(0, BLOCK_K)");
    code_.body = &inner;
    auto load = [&](const std::string& name, size_t operand) {
      const View& view = product.operands[operand];
      const size_t factor = product.Factor(operand);
      const char* index = factor == 0 ? "offs_k[None, :]" : "offs_k[:, None]";
      const std::vector<Segment> domain = OperandDomain(product, operand);
      const std::string mask = k_mask ? fmt::format("({} < K)", index) : "";
      code_.axes[AxisKind::kFlat] = {index, mask};
      // A dot wants whole tiles, also of what is the same in all rows or columns.
      auto whole = [&](std::string value, Axes axes) {
        bool full = true;
        for (const Segment& segment : domain)
          full &= segment.axis == AxisKind::kBatch || axes.Has(segment.axis);
        const char* shape = factor == 0 ? "BLOCK_M, BLOCK_K" : "BLOCK_K, BLOCK_N";
        if (!full) value = fmt::format("tl.broadcast_to({}, ({}))", value, shape);
        inner.Add(fmt::format("{} = {}", name, value));
      };
      if (auto turned = Described(view, factor)) {
        const char* m = factor == 0 ? "pid_m * BLOCK_M" : "pid_n * BLOCK_N";
        inner.Add(fmt::format("{} = {}.load([{}, {}]){}", name, code_.Pointer(view.prim),
                              *turned ? m : (factor == 0 ? m : "start"),
                              *turned ? "start" : (factor == 0 ? "start" : m), *turned ? ".T" : ""));
        return;
      }
      if (view.prim < 0 || !graph_[view.prim].inlined) {
        const TileCode::Place place = code_.PlaceOf(view, domain, false);
        whole(code_.Load(view, place), place.axes);
        return;
      }
      code_.BeginOperand(domain);
      std::string value = code_.Read(view, false, product.compute[operand]);
      Axes axes = code_.AxesOf(view.prim);
      // Past the end of k only zeros may be added, which a load along k gives by itself.
      const Prim& prim = graph_[view.prim];
      const bool zeros = prim.kind == PrimKind::kLoad && IsFloating(prim.dtype) &&
                         (prim.other.empty() || prim.other == "0.0") && axes.Has(AxisKind::kFlat);
      if (k_mask && !zeros) {
        axes.Add(AxisKind::kFlat);
        value =
            fmt::format("tl.where({}, {}, 0.0).to({})", mask, value, TritonDtype(product.compute[operand]));
      }
      whole(value, axes);
      code_.EndOperand();
    };
    const std::vector<std::string> loaded = NamesOf(product);
    for (size_t i = 0; i < product.operands.size(); ++i) load(loaded[i], i);
    for (size_t factor : {0, 1}) {
      if (product.TakesApart(factor)) TakeApart(factor == 0 ? "a" : "b", &inner);
    }
    code_.body = &lines_;
    Multiply(product, &inner);
    Loops(product, inner);
    code_.axes = axes;
  }

  void Multiply(const Prim& product, Lines* inner) const {
    const char* sum = t_.sum < t_.k ? "part" : "acc";
    if (product.parts > 1) return AddDotsOfParts("a", "b", "rest", sum, inner);
    const std::string precision =
        MultipliesFloat32(product) ? fmt::format(", input_precision=\"{}\"", PrecisionOf(product, options_))
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

  void Loops(const Prim& product, const Lines& inner) {
    lines_.Add("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)");
    if (product.parts > 1) lines_.Add("rest = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)");
    if (t_.sum < t_.k) {
      SumsOfSums(inner);
    } else {
      lines_.Add("for start in range(0, K, BLOCK_K):");
      lines_.AddDeeper(inner);
    }
    if (product.parts > 1) lines_.Add("acc += rest");
  }

  void SumsOfSums(const Lines& inner) {
    Lines chunk(2);
    chunk.Add("part = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)");
    const bool whole = t_.k % t_.sum == 0;
    chunk.Add(
        fmt::format("for start in range(chunk, {}, BLOCK_K):",
                    whole ? fmt::format("chunk + {}", t_.sum) : fmt::format("min(chunk + {}, K)", t_.sum)));
    chunk.AddDeeper(inner);
    chunk.Add("acc += part");
    lines_.Add(fmt::format("# Sums of {} columns are added up: rounding errors grow with the terms of a sum.",
                           t_.sum));
    lines_.Add(fmt::format("for chunk in range(0, K, {}):", t_.sum));
    lines_.AddDeeper(chunk);
  }

  // Whether a tensor descriptor can read the operand: two dimensions, whole rows, and rows that start at
  // multiples of 16 bytes. The value: its rows run along k although they are columns of the second operand.
  std::optional<bool> Described(const View& view, size_t factor) {
    if (!options_.descriptors || t_.batch > 1 || view.prim < 0 || graph_[view.prim].inlined ||
        view.offset != 0)
      return std::nullopt;
    // Also read in another way: then the argument has to stay a pointer.
    int readers = 0;
    const auto count = [&](auto& self, PrimId id) -> void {
      for (const View& read : graph_[id].operands) {
        readers += read.prim == view.prim;
        if (read.prim >= 0 && graph_[read.prim].inlined) self(self, read.prim);
      }
    };
    for (PrimId member : group_.members) count(count, member);
    const int64_t rows = factor == 0 ? t_.m : t_.k, columns = factor == 0 ? t_.k : t_.n;
    const int64_t bytes = static_cast<int64_t>(DtypeSize(graph_[view.prim].dtype));
    if (readers != 1 || !view.guards.empty() ||
        ContiguousView(view.prim, graph_[view.prim].sizes).numel() != rows * columns)
      return std::nullopt;
    auto digits = SplitIntoAxes(view, {rows, columns});
    if (!digits || (*digits)[0].size() != 1 || (*digits)[1].size() != 1) return std::nullopt;
    const Digit outer = (*digits)[0][0], inner = (*digits)[1][0];
    const bool plain = inner.stride == 1 && outer.stride == columns && columns * bytes % 16 == 0;
    const bool turned = factor == 1 && outer.stride == 1 && inner.stride == rows && rows * bytes % 16 == 0;
    if (!plain && !turned) return std::nullopt;
    code_.Pointer(view.prim);
    const auto& pointers = code_.pointers();
    const size_t at =
        static_cast<size_t>(std::find(pointers.begin(), pointers.end(), view.prim) - pointers.begin());
    const int64_t along = factor == 0 ? t_.block_m : t_.block_n;
    if (plain && factor == 1)
      descriptors_.push_back(
          {at, fmt::format("{}, {}", rows, columns), fmt::format("[{}, {}]", t_.block_k, along)});
    else
      descriptors_.push_back(
          {at, turned ? fmt::format("{}, {}", columns, rows) : fmt::format("{}, {}", rows, columns),
           fmt::format("[{}, {}]", along, t_.block_k)});
    return turned;
  }

  const Graph& graph_;
  const Group& group_;
  Tiles t_;
  const KernelOptions& options_;
  TileCode code_;
  Lines lines_;
  std::vector<KernelCode::Descriptor> descriptors_;
};

}  // namespace

KernelCode WriteMatmulKernel(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                             const KernelOptions& options, const std::string& name) {
  const Prim& product = graph[group.members[0]];
  TRITOGEN_CHECK(product.kind == PrimKind::kMatmul);
  Tiles t = Choose(product, group, options, product.inner);
  MatmulWriter writer(graph, group, buffers, t, options);
  writer.Write();
  KernelCode kernel;
  kernel.name = name;
  kernel.pointers = writer.code().pointers();
  kernel.descriptors = writer.descriptors();
  kernel.source = KernelText(name, writer.code(), {"M", "N", "K", "BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M"},
                             writer.text());
  const std::vector<Segment> domain = OperandDomain(product, 0);
  const std::vector<int64_t> rows = FactorsOf(domain, AxisKind::kM),
                             columns = FactorsOf(group.domain, AxisKind::kN),
                             inner = FactorsOf(domain, AxisKind::kFlat);
  const std::string m = CountText(rows);
  const std::string batch = CountText(FactorsOf(domain, AxisKind::kBatch));
  kernel.grid = fmt::format("{}triton.cdiv({}, {}) * triton.cdiv({}, {})", t.batch > 1 ? batch + " * " : "",
                            m, t.block_m, CountText(columns), t.block_n);
  kernel.constants = fmt::format("M={}, N={}, K={}, BLOCK_M={}, BLOCK_N={}, BLOCK_K={}, GROUP_M=8", m,
                                 CountText(columns), CountText(inner), t.block_m, t.block_n, t.block_k);
  const std::string k = CountOperand(inner);
  kernel.num_warps = t.num_warps;
  kernel.num_stages = t.num_stages;
  kernel.access = fmt::format("product of {}×{} and {}×{}{}; operands are read through their strides{}",
                              CountOperand(rows), k, k, CountOperand(columns),
                              t.batch > 1 ? fmt::format(", {} times", batch) : "",
                              product.tf32 ? "" : ", so a transposed one needs no copy");
  kernel.launch = fmt::format("one program for each {}×{} tile of the result, grouped for L2, grid {}",
                              t.block_m, t.block_n, kernel.grid);
  kernel.compute =
      fmt::format("accumulate in float32 over {} columns at a time{}, then {} on the tile", t.block_k,
                  product.parts > 1            ? " (six dots of bfloat16 parts)"
                  : MultipliesFloat32(product) ? " (" + DotsText(PrecisionOf(product, options)) + ")"
                                               : "",
                  OperatorList(graph, group));
  return kernel;
}

}  // namespace tritogen::teach
