// Attention in one kernel: a program takes a block of queries and walks along blocks of keys. No score leaves
// its registers: a running maximum and a running sum make the softmax (Dao et al. 2022, FlashAttention,
// Algorithm 1), and the division comes last (Dao 2023, FlashAttention-2). Exponents are to base 2.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/rounding.h"
#include "program/triton_dtype.h"
#include "teach/attention.h"
#include "teach/attention_tiles.h"
#include "teach/count_text.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"

namespace tritogen::teach {
namespace {

constexpr const char* kLog2E = "1.4426950408889634";

class AttentionWriter {
 public:
  AttentionWriter(const Graph& graph, const Group& group, const std::vector<std::string>& buffers,
                  const AttentionTiles& tiles, const KernelOptions& options)
      : graph_(graph),
        group_(group),
        id_(group.members[0]),
        prim_(graph[id_]),
        scores_id_(ScoresBehind(graph, prim_.operands[0].prim)),
        scores_(graph[scores_id_]),
        t_(tiles),
        options_(options),
        code_(graph, group, buffers) {}

  void Write() {
    for (const char* used :
         {"pid",    "batch", "num_m",   "pid_m",   "offs_m",  "offs_n",  "offs_k",  "offs_d",
          "acc",    "q",     "k",       "v",       "start",   "end",     "scores",  "weights",
          "border", "part",  "maximum", "base",    "total",   "largest", "shrink",  "M",
          "N",      "K",     "D",       "BLOCK_M", "BLOCK_N", "BLOCK_K", "BLOCK_D", "piece",
          "begin",  "at",    "PIECES",  "KEYS",    "TURNS"}) {
      code_.Name(used);
    }
    for (const char* taken : {"q", "k", "v", "weights"}) {
      for (const char* part : {"high", "middle", "low", "rest"})
        code_.Name(fmt::format("{}_{}", taken, part));
    }
    code_.body = code_.outer = &lines_;
    Head();
    Begin();
    const std::string begin = First(), border = UnmaskedBlocks(begin);
    Walk(border.empty() ? begin : border, End(), prim_.operands[0]);
    if (prim_.pieces > 1) return StorePiece();
    if (prim_.plain) return Finish();
    lines_.Add(
        prim_.other.empty()
            ? "acc = acc / total[:, None]"
            : fmt::format("acc = tl.where(total[:, None] == 0.0, {}, acc / total[:, None])", prim_.other));
    Finish();
  }

  TileCode& code() { return code_; }
  const std::string& text() const { return lines_.text(); }

 private:
  void Head() {
    lines_.Add(fmt::format("pid = tl.program_id(0){}", code_.wide() ? ".to(tl.int64)" : ""));
    lines_.Add("num_m = tl.cdiv(M, BLOCK_M)");
    if (prim_.pieces > 1) {
      lines_.Add("piece = pid % PIECES");
      lines_.Add("pid = pid // PIECES");
    }
    Blocks();
    lines_.Add("offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]");
    lines_.Add("offs_k = tl.arange(0, BLOCK_K)");
    lines_.Add("offs_d = tl.arange(0, BLOCK_D)");
    code_.axes[AxisKind::kBatch] = {"batch", ""};
    code_.axes[AxisKind::kM] = {"offs_m", Mask("offs_m", "M", t_.m, t_.block_m)};
    SetColumns("offs_k[None, :]", "K", t_.k, t_.block_k);
    Segment columns = OperandDomain(scores_, 0)[2];
    columns.axis = AxisKind::kN;
    Tile("q", scores_, 0, {group_.domain[0], group_.domain[1], columns}, "BLOCK_M, BLOCK_K");
    if (scores_.parts > 1) TakeApart("q", &lines_);
  }

  // The program's batch and block of queries.
  void Blocks() {
    std::string batch = "pid // num_m", number = t_.batch > 1 ? "pid % num_m" : "pid";
    if (t_.turns > 1 && t_.turns < t_.batch) {
      batch = "pid // (num_m * TURNS) * TURNS + pid % TURNS";
      number = "pid % (num_m * TURNS) // TURNS";
    } else if (t_.turns > 1) {
      batch = "pid % TURNS", number = "pid // TURNS";
    }
    if (t_.batch > 1) lines_.Add("batch = " + batch);
    if (prim_.WorkGrows()) lines_.Add("# Later queries look at more keys: their programs begin first.");
    lines_.Add(fmt::format("pid_m = {}{}", prim_.WorkGrows() ? "num_m - 1 - " : "", number));
  }

  static std::string Mask(const std::string& index, const char* size, int64_t n, int64_t block) {
    return n % block != 0 ? fmt::format("({} < {})", index, size) : "";
  }
  void SetColumns(const std::string& index, const char* size, int64_t n, int64_t block) {
    code_.axes[AxisKind::kN] = {index, Mask(index, size, n, block)};
  }
  // The loop's axis.
  void SetKeys(const std::string& index) {
    code_.axes[AxisKind::kFlat] = {index, whole_blocks_ ? "" : Mask(index, "N", t_.n, t_.block_n)};
  }

  // An operand of a product as a whole tile, zeros where it ends.
  void Tile(const std::string& name, const Prim& product, size_t operand, const std::vector<Segment>& domain,
            const char* shape) {
    const View& view = product.operands[operand];
    std::string value;
    Axes own;
    code_.BeginOperand(domain);
    if (view.prim < 0 || !graph_[view.prim].inlined) {
      const TileCode::Place place = code_.PlaceOf(view, domain, false);
      value = code_.Load(view, place);
      own = place.axes;
    } else {
      value = code_.Read(view, false, product.compute[operand]);
      own = code_.AxesOf(view.prim);
      std::string mask;
      for (const Segment& segment : domain) {
        const std::string& each = code_.axes.at(segment.axis).mask;
        if (segment.axis == AxisKind::kM || each.empty()) continue;  // nobody stores other rows
        mask += (mask.empty() ? "" : " & ") + each;
        own.Add(segment.axis);
      }
      if (!mask.empty())
        value =
            fmt::format("tl.where({}, {}, 0.0).to({})", mask, value, TritonDtype(product.compute[operand]));
    }
    code_.EndOperand();
    bool full = true;
    for (const Segment& segment : domain) full &= segment.axis == AxisKind::kBatch || own.Has(segment.axis);
    if (!full) value = fmt::format("tl.broadcast_to({}, ({}))", value, shape);
    code_.body->Add(fmt::format("{} = {}", name, value));
  }

  std::string Precision(const Prim& product) const {
    return product.compute.back() == Dtype::kFloat32
               ? fmt::format(", input_precision=\"{}\"", PrecisionOf(product, options_))
               : "";
  }

  // Of a block of queries and a block of keys, with all work on them: `weighed_`.
  void Scores(Lines& loop, const View& weighed) {
    loop.Add("offs_n = start + tl.arange(0, BLOCK_N)");
    const std::vector<Segment> of_keys = OperandDomain(scores_, 1);
    const Segment keys{AxisKind::kFlat, t_.n, of_keys[2].factors};
    SetColumns("offs_k[:, None]", "K", t_.k, t_.block_k);
    SetKeys("offs_n[None, :]");
    Tile("k", scores_, 1, {group_.domain[0], {AxisKind::kN, t_.k, of_keys[1].factors}, keys},
         "BLOCK_K, BLOCK_N");
    if (scores_.parts > 1) {
      TakeApart("k", &loop);
      loop.Add("scores = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)");
      AddDotsOfParts("q", "k", "scores", "scores", &loop);
    } else {
      loop.Add(fmt::format("scores = tl.dot(q, k{})", Precision(scores_)));
    }
    const std::vector<Segment> domain = {group_.domain[0], group_.domain[1], keys};
    code_.BeginOperand(domain);
    Axes tile;
    for (const Segment& segment : domain) tile.Add(segment.axis);
    code_.Bind(scores_id_, "scores", Dtype::kFloat32, tile);
    weighed_ = code_.Read(weighed, false, Dtype::kFloat32);
    code_.EndOperand();
    if (const std::string& mask = code_.axes[AxisKind::kFlat].mask; !mask.empty()) {
      loop.Add(fmt::format("scores = tl.where({}, {}, {})", mask, weighed_,
                           prim_.plain ? "0.0" : "float(\"-inf\")"));
      weighed_ = "scores";
    }
  }

  // What exponents of scores, to base 2, are multiplied by: exp(x) = exp2(x · log2 e).
  std::string Factor() const {
    return prim_.expr.empty() ? kLog2E : fmt::format("({} {})", kLog2E, prim_.expr);
  }

  // Exponents are multiplied and shifted at once where scores are of half precision: what the one step rounds
  // away is nothing to what their factors have lost. Of float32 the difference comes first, which is exact.
  void Exponentials(Lines& loop) {
    const std::string factor = Factor();
    const bool once = t_.half;
    loop.Add(
        fmt::format("largest = tl.maximum(maximum, tl.max({}, 1){})", weighed_, once ? " * " + factor : ""));
    loop.Add("# Where all keys so far are masked, there is nothing to take off.");
    loop.Add("base = tl.where(largest == float(\"-inf\"), 0.0, largest)");
    if (once) {
      loop.Add(fmt::format("weights = tl.exp2({} * {} - base[:, None])", weighed_, factor));
      loop.Add("shrink = tl.exp2(maximum - base)");
    } else {
      loop.Add(fmt::format("weights = tl.exp2(({} - base[:, None]) * {})", weighed_, factor));
      loop.Add(fmt::format("shrink = tl.exp2((maximum - base) * {})", factor));
    }
  }

  // The softmax so far, and what it weighs.
  void Weights(Lines& loop) {
    if (prim_.plain) {
      loop.Add("weights = " + weighed_);
    } else {
      Exponentials(loop);
      loop.Add("total = total * shrink + tl.sum(weights, 1)");
      loop.Add("maximum = largest");
    }
    SetColumns("offs_d[None, :]", "D", t_.d, t_.block_d);
    SetKeys("offs_n[:, None]");
    const std::vector<Segment> of_values = OperandDomain(prim_, 1);
    Tile("v", prim_, 1, of_values, "BLOCK_N, BLOCK_D");
    if (prim_.parts > 1) {
      TakeApart("weights", &loop, /*finite=*/!prim_.plain);
      TakeApart("v", &loop);
      loop.Add("part = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)");
      AddDotsOfParts("weights", "v", "part", "part", &loop);
      loop.Add(prim_.plain ? "acc += part" : "acc = acc * shrink[:, None] + part");
      return;
    }
    const Dtype dtype = prim_.compute[1];
    if (!prim_.plain) loop.Add("acc = acc * shrink[:, None]");
    loop.Add(fmt::format("acc = tl.dot({}, v, acc{})", Converted("weights", Dtype::kFloat32, dtype),
                         Precision(prim_)));
  }

  void Begin() {
    if (prim_.plain) {
      lines_.Add("acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)");
      return lines_.Add("# Scores stay in registers.");
    }
    lines_.Add("maximum = tl.full((BLOCK_M,), float(\"-inf\"), dtype=tl.float32)");
    lines_.Add("total = tl.zeros((BLOCK_M,), dtype=tl.float32)");
    lines_.Add("acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)");
    lines_.Add(
        "# Scores stay in registers: what earlier blocks of keys added up shrinks as the maximum grows.");
  }

  // " + 3"; nothing for 0.
  static std::string Plus(int64_t number) {
    return number == 0 ? "" : fmt::format(" {} {}", number < 0 ? '-' : '+', std::abs(number));
  }

  // Where the program's keys begin.
  std::string First() {
    if (prim_.pieces == 1 && !prim_.behind) return "0";
    const std::string piece = prim_.pieces > 1 ? "piece * KEYS" : "0";
    if (!prim_.behind) {
      lines_.Add("begin = " + piece);
    } else {
      lines_.Add("# Keys before these are masked for all queries of the program.");
      lines_.Add(fmt::format("begin = max({}, (pid_m * BLOCK_M{}) // BLOCK_N * BLOCK_N)", piece,
                             Plus(-*prim_.behind)));
    }
    return "begin";
  }

  // Where they end.
  std::string End() {
    const std::string last = prim_.pieces > 1 ? "min(piece * KEYS + KEYS, N)" : "N";
    if (!prim_.ahead) return last;
    lines_.Add("# Keys behind these are masked for all queries of the program.");
    lines_.Add(fmt::format("end = min((pid_m + 1) * BLOCK_M{}, {})", Plus(*prim_.ahead), last));
    return "end";
  }

  // Walks along blocks of keys that no query of the program has a mask on, where there are such; gives where
  // they end.
  std::string UnmaskedBlocks(const std::string& begin) {
    if (!prim_.ahead || *prim_.ahead < 0 || prim_.pieces > 1 || prim_.plain) return "";
    const View& weighed = prim_.operands[0];
    const auto chosen = ChosenUpTo(graph_, weighed, t_.batch, t_.m, t_.n, *prim_.ahead);
    if (!chosen) return "";
    lines_.Add("# Of blocks up to here all queries see all keys.");
    lines_.Add(
        fmt::format("border = min(pid_m * BLOCK_M{}, N) // BLOCK_N * BLOCK_N", Plus(*prim_.ahead + 1)));
    whole_blocks_ = true;
    Walk(begin, "border", graph_[weighed.prim].operands[*chosen]);
    whole_blocks_ = false;
    return "border";
  }

  void Walk(const std::string& begin, const std::string& end, const View& weighed) {
    Lines loop(2);
    code_.body = &loop;
    Scores(loop, weighed);
    Weights(loop);
    code_.body = &lines_;
    code_.EndLoop();
    lines_.Add(fmt::format("for start in range({}, {}, BLOCK_N):", begin, end));
    lines_.AddDeeper(loop);
  }

  // Nothing is divided before the pieces are joined.
  void StorePiece() {
    const std::string pointer = code_.Pointer(id_), rows = Mask("offs_m", "M", t_.m, t_.block_m),
                      columns = Mask("offs_d[None, :]", "D", t_.d, t_.block_d);
    const int64_t maxima = t_.batch * t_.m * prim_.pieces * t_.d,
                  totals = maxima + t_.batch * t_.m * prim_.pieces;
    const auto store = [&](const std::string& place, const std::string& value, const std::string& mask) {
      lines_.Add(fmt::format("tl.store({} + {}, {}{})", pointer, place, value,
                             mask.empty() ? "" : ", mask=" + mask));
    };
    lines_.Add(fmt::format("at = {} * PIECES + piece", t_.batch > 1 ? "(batch * M + offs_m)" : "offs_m"));
    store("at * D + offs_d[None, :]", "acc", rows + (rows.empty() || columns.empty() ? "" : " & ") + columns);
    lines_.Add("# Behind the values: the largest exponent, and what they are to be divided by.");
    store(fmt::format("{} + at", maxima),
          t_.half ? "maximum[:, None]" : fmt::format("maximum[:, None] * {}", Factor()), rows);
    store(fmt::format("{} + at", totals), "total[:, None]", rows);
  }

  void Finish() {
    SetColumns("offs_d[None, :]", "D", t_.d, t_.block_d);
    code_.axes.erase(AxisKind::kFlat);
    Axes tile;
    for (const Segment& segment : group_.domain) tile.Add(segment.axis);
    code_.Bind(id_, "acc", Dtype::kFloat32, tile);
    for (size_t i = 1; i < group_.members.size(); ++i) code_.Member(group_.members[i]);
    for (PrimId member : group_.stores) code_.Store(member);
  }

  const Graph& graph_;
  const Group& group_;
  const PrimId id_;
  const Prim& prim_;
  const PrimId scores_id_;
  const Prim& scores_;
  const AttentionTiles t_;
  const KernelOptions& options_;
  TileCode code_;
  Lines lines_;
  std::string weighed_;        // variable of what the softmax is of
  bool whole_blocks_ = false;  // all keys of a block are there
};

}  // namespace

KernelCode WriteAttentionKernel(const Graph& graph, const Group& group,
                                const std::vector<std::string>& buffers, const KernelOptions& options,
                                const std::string& name) {
  const Prim& prim = graph[group.members[0]];
  TRITOGEN_CHECK(prim.kind == PrimKind::kAttention);
  const Prim& scores = graph[ScoresBehind(graph, prim.operands[0].prim)];
  const AttentionTiles t = TilesOf(graph, prim, scores, group, options);
  AttentionWriter writer(graph, group, buffers, t, options);
  writer.Write();
  KernelCode kernel;
  kernel.name = name;
  kernel.pointers = writer.code().pointers();
  std::vector<std::string> constants;
  for (const auto& [constant, value] : ConstantsOf(prim, group, t)) {
    constants.push_back(constant);
    kernel.constants += fmt::format("{}{}={}", kernel.constants.empty() ? "" : ", ", constant, value);
  }
  kernel.source = KernelText(name, writer.code(), constants, writer.text());
  const std::string m = CountText(FactorsOf(group.domain, AxisKind::kM)), n = fmt::format("{}", t.n),
                    batch = CountText(FactorsOf(group.domain, AxisKind::kBatch));
  kernel.grid = fmt::format("{}triton.cdiv({}, {})", t.batch > 1 ? batch + " * " : "", m, t.block_m);
  if (prim.pieces > 1) kernel.grid += fmt::format(" * {}", prim.pieces);
  kernel.num_warps = t.num_warps;
  kernel.num_stages = t.num_stages;
  kernel.access = fmt::format(
      "{} queries and {} keys of {} numbers{}; operands are read through their strides, and no score is "
      "stored",
      m, n, t.k, t.batch > 1 ? fmt::format(", {} times", batch) : "");
  kernel.launch = fmt::format(
      "one program for each block of {} queries{}, grid {}", t.block_m,
      prim.pieces > 1 ? fmt::format(" and each of {} pieces of the keys", prim.pieces) : "", kernel.grid);
  const auto dots = [&](const Prim& product) {
    return product.parts > 1                           ? std::string(" (six dots of bfloat16 parts)")
           : product.compute.back() == Dtype::kFloat32 ? " (" + DotsText(PrecisionOf(product, options)) + ")"
                                                       : "";
  };
  Group behind = group;
  behind.members.erase(behind.members.begin());
  kernel.compute = fmt::format(
      "for each block of {} keys{} multiply queries and keys{}; scores stay in registers{}; add the values "
      "that they weigh to an accumulator{}; "
      "{}{}, store once",
      t.block_n, prim.ahead || prim.behind ? " that the queries look at" : "", dots(scores),
      prim.plain ? "" : ", with a running maximum and a running sum of their exponentials", dots(prim),
      prim.plain        ? "work on them on the tile"
      : prim.pieces > 1 ? "keep maximum and sum to join the pieces by"
                        : "divide at the end",
      behind.members.empty() ? "" : fmt::format(", then {} on the tile", OperatorList(graph, behind)));
  return kernel;
}

}  // namespace tritogen::teach
