#include "synth/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "config/fields.h"
#include "synth/image.h"

namespace tritogen::synth {
namespace {

constexpr int kPatience = 20000;          // draws that fail one after the other before we give up
constexpr int kPatienceForSide = 200000;  // graphs and programs on the other side, one after the other
constexpr size_t kMostGraphs = 64;        // of one sketch, looked at before its sizes are counted
constexpr int kSketchTries = 256;         // draws of sizes for one sketch

std::vector<std::string_view> SplitList(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    if (auto part = Trimmed(text.substr(0, comma), " "); !part.empty()) parts.push_back(part);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return parts;
}

}  // namespace

const OpRow& OperatorNamed(std::string_view name) {
  std::vector<std::string> names;
  if (name.ends_with(".default")) name.remove_suffix(8);
  for (const OpRow& row : Catalogue()) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  const std::string_view near = config::Nearest(name, names);
  throw UserError(
      fmt::format("the catalogue has no operator '{}'{} (./tritogen program --operators lists all)", name,
                  near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

HeldOut HeldOut::Parse(std::string_view text) {
  HeldOut held;
  for (std::string_view part : SplitList(text)) {
    const size_t arrow = part.find('>');
    if (arrow == std::string_view::npos) {
      held.operators.insert(OperatorNamed(part).name);
    } else {
      held.pairs.emplace(OperatorNamed(Trimmed(part.substr(0, arrow), " ")).name,
                         OperatorNamed(Trimmed(part.substr(arrow + 1), " ")).name);
    }
  }
  return held;
}

bool HeldOut::Allows(const Sketch& sketch) const {
  if (operators.empty() && pairs.empty()) return true;
  bool any = false;
  for (const SketchStep& step : sketch.steps) {
    any = any || operators.contains(step.row->name);
    for (int tensor : step.operands) {
      const int maker = sketch.tensors[tensor].step;
      any = any || (maker >= 0 && pairs.contains({sketch.steps[maker].row->name, step.row->name}));
    }
  }
  return any == only;
}

std::vector<const OpRow*> OperatorsNamed(std::string_view names) {
  std::vector<const OpRow*> rows;
  auto add = [&](const OpRow& row) {
    if (std::find(rows.begin(), rows.end(), &row) == rows.end()) rows.push_back(&row);
  };
  for (std::string_view name : SplitList(names)) {
    const auto kind = ClassNamed(name);
    if (name != "all" && !kind) {
      const OpRow& row = OperatorNamed(name);
      if (!Drawable(row))
        throw UserError(fmt::format("{} takes no tensor: programs cannot be made of it", name));
      add(row);
      continue;
    }
    for (const OpRow& row : Catalogue()) {
      if (Drawable(row) && (!kind || row.kind == *kind)) add(row);
    }
  }
  if (rows.empty()) throw UserError("no operators that take tensors: name some, or all");
  return rows;
}

Side SideOf(std::string_view fingerprint, double test_share) {
  uint64_t word = 0;  // the first 52 bits: as many as a double holds
  for (char digit : fingerprint.substr(0, 13))
    word = word * 16 + (digit <= '9' ? digit - '0' : digit - 'a' + 10);
  return static_cast<double>(word) < test_share * 0x1p52 ? Side::kTest : Side::kTrain;
}

struct Sampler::Current {
  std::unique_ptr<Mould> mould;
  SketchSystem system;
  Space space;
  Permutation order;
  Natural next = 0;  // place in the order
  int drawn = 0, tries = 0;
  std::vector<int64_t> values;
};

namespace {

// Up to `count` members of the domain, next to numbers whose logarithms are uniform between its ends.
Domain SomeOf(const Domain& domain, int count, SplitMix* random) {
  const double least = std::log(domain.min()), most = std::log(domain.max() + 1.0);
  std::vector<int64_t> values;
  for (int i = 0; i < count; ++i)
    values.push_back(domain.AtMost(static_cast<int64_t>(std::exp(least + (most - least) * random->Unit()))));
  return Domain::Of(values);
}

SolverOptions SolverFor(const SamplerOptions& options) {
  SolverOptions solver = options.solver;
  if (options.shapes.sizes.size() > kListed && solver.most_steps == 0) solver.most_steps = kManySteps;
  return solver;
}

}  // namespace

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)), solver_(SolverFor(options_)) {
  TRITOGEN_CHECK(options_.level >= 1 && options_.per_sketch >= 1);
  if (options_.sketch.as_modules > 0) options_.shapes.windows = Domain{1, 2, 3, 4, 5, 6, 7, 8, 9, 11};
}

void Sampler::NextSketch() {
  current_.reset();
  const uint64_t stream = SplitMix::Mix(SplitMix::Mix(options_.seed) + number_++);
  SplitMix random(stream);
  ++statistics_.sketches;
  Sketch sketch = DrawSketch(options_.sketch, options_.level, &random);
  if (!options_.held_out.Allows(sketch)) {
    ++statistics_.held_out;
    return;
  }
  auto mould = std::make_unique<Mould>(std::move(sketch));
  if (!HasShown(mould.get())) {
    ++statistics_.passed_over;
    return;
  }
  ShapeOptions shapes = options_.shapes;
  for (Domain* sizes : {&shapes.sizes, &shapes.image_sizes}) {
    if (options_.sizes_per_sketch > 0 && !sizes->empty())
      *sizes = SomeOf(*sizes, options_.sizes_per_sketch, &random);
  }
  SketchSystem system = SystemOf(mould->sketch(), shapes);
  auto space = solver_.Compile(system.system);
  if (!space) {
    ++statistics_.too_large;
    return;
  }
  if (space->count().IsZero()) {
    ++statistics_.impossible;
    return;
  }
  Permutation order(space->count(), stream);
  current_ = std::make_shared<Current>(
      Current{std::move(mould), std::move(system), std::move(*space), order, 0, 0, 0, {}});
}

std::optional<Sample> Sampler::Draw() {
  Current& now = *current_;
  ++now.tries;
  ++statistics_.draws;
  Sample sample;
  sample.index = now.order.At(now.next);
  now.next += 1;
  now.space.Unrank(sample.index, &now.values);
  if (!now.space.exact() && !now.system.system.Holds(now.values)) {
    ++statistics_.over_bounds;
    return std::nullopt;
  }
  Mould& mould = *now.mould;
  mould.Pour(now.system, now.values);
  const ShapeOptions& limits = options_.shapes;
  if (mould.sized().flops < static_cast<double>(limits.min_flops) ||
      mould.sized().flops > static_cast<double>(limits.max_flops) ||
      mould.sized().bytes > static_cast<double>(limits.max_bytes)) {
    ++statistics_.over_limits;
    return std::nullopt;
  }
  sample.count = now.space.count();
  sample.exact = now.space.exact();
  sample.fingerprint = mould.SizesFingerprint();
  sample.graph_fingerprint = mould.GraphFingerprint();
  if (!Fresh(sample)) return std::nullopt;
  ++now.drawn;
  if (!Shown(sample)) {
    ++statistics_.hidden;
    return std::nullopt;
  }
  for (const SketchStep& step : mould.sketch().steps) sample.operators.push_back(step.row->name);
  sample.text = mould.Text();
  sample.sized = mould.sized();
  return sample;
}

// Whether any program of the sketch may be shown. A program on the other side is like none on this one, so
// that not drawing it makes no other one come or stay away.
bool Sampler::HasShown(Mould* mould) const {
  const bool most_are =
      options_.shown == Side::kAll || (options_.shown == Side::kTest) == (options_.test_share > 0.5);
  if (most_are || !options_.shown_by_graph) return true;  // not worth a look
  const auto graphs = mould->GraphFingerprints(kMostGraphs);
  return !graphs || std::ranges::any_of(*graphs, [&](const std::string& graph) {
    return SideOf(graph, options_.test_share) == options_.shown;
  });
}

bool Sampler::Shown(const Sample& sample) const {
  const std::string& name = options_.shown_by_graph ? sample.graph_fingerprint : sample.fingerprint;
  return options_.shown == Side::kAll || SideOf(name, options_.test_share) == options_.shown;
}

bool Sampler::Fresh(const Sample& sample) {
  if (options_.side != Side::kAll && SideOf(sample.fingerprint, options_.test_share) != options_.side) {
    ++statistics_.other_side;
    return false;
  }
  if (options_.avoid.contains(sample.fingerprint) || options_.avoid.contains(sample.graph_fingerprint)) {
    ++statistics_.avoided;
    return false;
  }
  const bool fresh = seen_.insert(sample.fingerprint).second;
  statistics_.repeated += !fresh;
  return fresh;
}

Sample Sampler::Next() {
  const Statistics before = statistics_;
  int64_t hidden = 0;  // what is not shown is no failure
  for (int64_t i = 0; i < kPatience + hidden && hidden < kPatienceForSide; ++i) {
    if (current_ == nullptr || current_->drawn == options_.per_sketch || current_->tries == kSketchTries ||
        current_->next == current_->order.size())
      NextSketch();
    if (current_ != nullptr) {
      if (auto sample = Draw()) return std::move(*sample);
    }
    hidden = statistics_.passed_over + statistics_.hidden - before.passed_over - before.hidden;
  }
  const Statistics& now = statistics_;
  throw UserError(fmt::format(
      "no new program of level {} after {} tries: {} graphs have no sizes that fit, {} were too large to "
      "count, "
      "{} were held out; of {} draws {} exceed the bounds on tensors, {} the limits of operations or bytes, "
      "{} "
      "came before, {} are to be avoided, {} graphs and {} programs are on the other side. Loosen the "
      "limits, or allow more operators or sizes",
      options_.level, kPatience + hidden, now.impossible - before.impossible,
      now.too_large - before.too_large, now.held_out - before.held_out, now.draws - before.draws,
      now.over_bounds - before.over_bounds, now.over_limits - before.over_limits,
      now.repeated - before.repeated, now.avoided - before.avoided, now.passed_over - before.passed_over,
      now.hidden - before.hidden));
}

}  // namespace tritogen::synth
