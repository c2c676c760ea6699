#include "verify/verifier_edges.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "device/random.h"
#include "verify/verifier_reference.h"
#include "verify/verifier_second_look.h"

namespace tritogen {
namespace {

// Before a jump: what an honest program is off by is about as much as the eager one is.
constexpr double kTimesNoise = 2;
// Runs in which jumps within are given more in places, less in others; each has a twin the other way round,
// so that what is undecided turns in one of them. Two elements change places in one of two pairs.
constexpr int kTwins = 3, kTwinsOfPicks = 8;

// A range is for where an edge is near. Far from it a little more is as much above as a little less is below
// (a ReLU of what is large is the identity), and all that a row may be off by would be right in each place.
constexpr double kTimesBend = 8;

void KeepBent(const at::Tensor& exact, Range* range) {
  if (!at::isFloatingType(exact.scalar_type())) return;
  const at::Tensor bend = (range->up - exact + (range->down - exact)).abs_().mul_(kTimesBend).nan_to_num_();
  for (at::Tensor* end : {&range->up, &range->down})
    *end = exact + at::minimum(at::maximum(*end - exact, -bend), bend);
}

// Of what has been broadcast the largest for each element of these sizes.
at::Tensor LargestTo(at::IntArrayRef sizes, at::Tensor x) {
  while (x.dim() > static_cast<int64_t>(sizes.size())) x = x.amax(0);
  for (int64_t d = 0; d < x.dim(); ++d)
    if (sizes[d] == 1 && x.size(d) > 1) x = x.amax(d, /*keepdim=*/true);
  return x;
}

// All edges of the task as probes of one replay; `of` says which are those of an output.
class EdgeRuns {
 public:
  EdgeRuns(const Task::Impl& task, const Trial& trial, const Deadline& deadline)
      : task_(task),
        trial_(trial),
        deadline_(deadline),
        options_(ReferenceOptionsFor(task.options, deadline)) {
    for (const std::vector<Edge>& edges : task.edges) {
      of_.emplace_back();
      for (const Edge& edge : edges) of_.back().push_back(IndexOf(edge));
    }
    for (const std::vector<Edge>& edges : task.within) {
      for (const Edge& edge : edges) within_.insert(IndexOf(edge));
    }
    options_.probes = &probes_;
  }

  // How much is a little, by probe. False where the reference does not run.
  bool Measure(const Bindings& bindings) {
    Replayer eager(task_.plan, options_);
    if (SetUp(task_, task_.plan, bindings, &eager)) return false;
    const auto state = eager.State();
    if (eager.Run(CloneAll(trial_.inputs), trial_.run_seed, &unused_)) return false;
    const TensorList seen = Seen();
    for (const auto& [name, tensor] : state) wide_[name] = ToDouble({tensor})[0];
    exact_ = MakeExact();
    if (!exact_ || !RunExact(*exact_, &unused_)) return false;
    const TensorList exact = Seen();
    MovedRuns runs(task_, deadline_, {.probes = &probes_});
    if (runs.SetUp(bindings) || runs.Run(kMoreRuns, trial_.inputs, trial_.run_seed, trial_.exact, &unused_))
      return false;
    const TensorList moved = Seen();
    for (size_t i = 0; i < probes_.size(); ++i) little_.push_back(LittleOf(i, exact[i], seen[i], moved[i]));
    for (const auto& [argument, other] : compared_) {
      const at::Tensor together = little_[argument] + little_[other];
      const at::Tensor apart = at::where(seen[argument] == seen[other], 0, together);
      little_[argument] = LargestTo(little_[argument].sizes(), apart);
    }
    return true;
  }

  // Nothing where the reference does not run.
  std::optional<Range> RangeOf(size_t output) {
    Range range;
    for (const double sign : {1.0, -1.0}) {
      for (Probe& probe : probes_) probe.nudge.reset();
      for (const size_t i : of_[output]) probes_[i].nudge = little_[i] * sign;
      TensorList outputs;
      if (!RunExact(*exact_, &outputs)) return std::nullopt;
      const at::ScalarType type = trial_.outputs[output].expected.exact().scalar_type();
      (sign > 0 ? range.up : range.down) = outputs[output].to(type).contiguous();
    }
    KeepBent(trial_.outputs[output].expected.exact(), &range);
    return range;
  }

  // Of all outputs with jumps within: the same runs serve all. False where the reference does not run.
  bool Turn(std::vector<Range>* ranges) {
    const int twins = task_.Picks() ? kTwinsOfPicks : kTwins;
    for (int number = 0; number < 2 * twins; ++number) {
      for (Probe& probe : probes_) probe.nudge.reset();
      for (const size_t i : within_) {
        const Random random(SubSeed(trial_.seed, 1000 + number / 2 * probes_.size() + i),
                            little_[i].device());
        const at::Tensor sign = random.Uniform(little_[i].sizes(), -1, 1).sign();
        probes_[i].nudge = little_[i] * (number % 2 == 0 ? sign : -sign);
      }
      TensorList outputs;
      if (!RunExact(*exact_, &outputs)) return false;
      for (size_t i = 0; i < ranges->size(); ++i) {
        if (!task_.within[i].empty()) Count(i, outputs[i], &(*ranges)[i]);
      }
    }
    return true;
  }

 private:
  void Count(size_t output, const at::Tensor& turned, Range* range) const {
    const at::Tensor& exact = trial_.outputs[output].expected.exact();
    const at::Tensor other = turned.to(exact.scalar_type()).contiguous();
    const auto picks = [](const Edge& e) { return e.kind == EdgeKind::kPick; };
    const bool floating = at::isFloatingType(exact.scalar_type());
    if (floating && !std::ranges::all_of(task_.within[output], picks)) range->turned.push_back(other);
    if (floating && std::ranges::none_of(task_.within[output], picks)) return;
    range->up = range->up.defined() ? at::maximum(range->up, other) : other;
    range->down = range->down.defined() ? at::minimum(range->down, other) : other;
  }

  size_t IndexOf(const Edge& edge) {
    const auto same = [&](const Probe& p) { return p.step == edge.step; };
    const auto found = std::find_if(probes_.begin(), probes_.end(), same);
    if (found != probes_.end()) return found - probes_.begin();
    const size_t index = probes_.size();
    for (const TensorId id : {edge.argument, edge.other}) {
      if (id == kNoTensor) continue;
      probes_.push_back({edge.step, id, {}, {}});
      kinds_.push_back(edge.kind);
    }
    if (edge.other != kNoTensor) compared_.emplace_back(index, index + 1);
    return index;
  }

  std::unique_ptr<Replayer> MakeExact() {
    ReplayOptions options = options_;
    options.in_float64 = true;
    auto replayer = std::make_unique<Replayer>(task_.plan, options);
    return SetUp(task_, task_.plan, wide_, replayer.get()) ? nullptr : std::move(replayer);
  }

  bool RunExact(Replayer& replayer, TensorList* outputs) const {
    return !replayer.Run(ToDouble(trial_.inputs), trial_.run_seed, outputs);
  }

  TensorList Seen() {
    TensorList seen;
    for (Probe& probe : probes_) seen.push_back(std::move(probe.seen));
    return seen;
  }

  at::Tensor LittleOf(size_t probe, const at::Tensor& exact, const at::Tensor& eager,
                      const at::Tensor& moved) const {
    std::vector<at::Tensor> wobbles;
    if (task_.cuts_factors) {
      wobbles.push_back(AllowedCut(exact, moved));
    } else if (!task_.narrow || kinds_[probe] != EdgeKind::kStairs) {
      wobbles.push_back(moved);
    }
    const Expectation expected(exact, eager, wobbles);
    const bool given = Expectation(exact, eager, {}).noise() == 0;
    const bool may_be_luck = trial_.distribution == Distribution::kBinary;
    if (given && !may_be_luck) return at::zeros_like(exact);
    const bool jumps = kinds_[probe] != EdgeKind::kFlat;
    return expected.AllowedEverywhere(jumps && !task_.cuts_factors ? kTimesNoise : expected.multiple());
  }

  const Task::Impl& task_;
  const Trial& trial_;
  const Deadline& deadline_;
  ReplayOptions options_;
  std::vector<Probe> probes_;
  std::vector<EdgeKind> kinds_;                      // by probe
  std::vector<std::pair<size_t, size_t>> compared_;  // probes of a comparison: what is moved, and the other
  std::vector<std::vector<size_t>> of_;              // by output: its probes
  std::set<size_t> within_;                          // probes of jumps within
  TensorList little_, unused_;
  Bindings wide_;
  std::unique_ptr<Replayer> exact_;
};

}  // namespace

std::optional<std::vector<Range>> RangesAtEdges(const Task::Impl& task, const Bindings& bindings,
                                                const Trial& trial, const Deadline& deadline) {
  std::vector<Range> ranges(task.edges.size());
  const auto has = [](const std::vector<Edge>& edges) { return !edges.empty(); };
  const bool within = std::ranges::any_of(task.within, has);
  if (!within && std::ranges::none_of(task.edges, has)) return ranges;
  EdgeRuns runs(task, trial, deadline);
  if (!runs.Measure(bindings)) return std::nullopt;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (task.edges[i].empty()) continue;
    auto range = runs.RangeOf(i);
    if (!range) return std::nullopt;
    ranges[i] = std::move(*range);
  }
  if (within && !runs.Turn(&ranges)) return std::nullopt;
  return ranges;
}

}  // namespace tritogen
