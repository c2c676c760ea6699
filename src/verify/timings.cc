#include "verify/timings.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/stages.h"
#include "cuda/roofline.h"
#include "device/device_errors.h"
#include "device/gpu.h"
#include "plan/visit.h"
#include "verify/timed_plan.h"
#include "verify/unavoidable_reads.h"
#include "verify/work.h"

namespace tritogen {
namespace {

constexpr double kFloorSlack = 0.8;  // a time this far under the floor cannot be explained by rounding

// Seconds: what takes less is one of many measurements, where each millisecond counts.
constexpr double kBriefTiming = 0.1;

struct TimingRequest {
  cuda::TimingOptions clock;
  bool both_methods = true;  // where graphs are timed, replays step by step as well
};

TimingRequest RequestFor(const VerifyOptions& options) {
  TimingRequest request;
  request.clock.min_samples = options.timing_samples;
  request.clock.max_samples = std::max<size_t>(request.clock.max_samples, options.timing_samples);
  request.clock.budget_seconds = options.timing_seconds;
  if (options.timing_seconds < kBriefTiming) {
    request.both_methods = false;
    request.clock.target_error = 0.01;
    request.clock.enough_samples = 5;
    request.clock.warmup_window = 1;
    request.clock.max_warmup_samples = 3;
  }
  return request;
}

class Stopwatch {
 public:
  Stopwatch(const Task::Impl& task, const Setting& setting, const Bindings& bindings,
            const VerifyOptions& options, int variants)
      : task_(task),
        setting_(setting),
        bindings_(bindings),
        variants_(variants),
        request_(RequestFor(options)),
        against_itself_(options.against_itself),
        options_(OptionsFor(options, Deadline(options.budget_seconds))) {
    options_.check_memory = false;
  }

  Timings Run(const Plan& candidate) {
    const Gpu& gpu = *Gpu::Current();
    Timings timings;
    timings.device = gpu.info().name;
    timings.driver =
        fmt::format("{}.{}", gpu.info().driver_version / 1000, gpu.info().driver_version % 1000 / 10);
    std::optional<Stage> making(std::in_place, "timing: captures");
    ChooseVariant(candidate, &timings);
    programs_.push_back(Make("candidate", candidate, timings.variant, options_.libraries));
    const std::vector<EagerForm> eager = MakeEager();
    if (against_itself_) programs_.push_back(Make("itself", candidate, timings.variant, options_.libraries));
    timings.graphs =
        std::all_of(programs_.begin(), programs_.end(), [](const auto& p) { return p->captured(); });
    making.reset();
    const cuda::TimingReport main = Measure(timings.graphs, request_.clock);
    const cuda::TimingReport other = MeasureOther(timings.graphs);
    std::vector<ProgramTimes> times = TimesOf(timings.graphs, main, other);
    timings.candidate = times.front();
    if (against_itself_) {
      timings.itself = times.back();
      times.pop_back();
    }
    for (const EagerForm& form : eager) {
      timings.baselines.push_back(times[form.program]);
      timings.baselines.back().name = form.name;
    }
    timings.clocks = main.clocks;
    CheckPutAside();
    FillRoofline(&timings);
    return timings;
  }

 private:
  // What eager PyTorch is under a contract, and which of programs_ that is.
  struct EagerForm {
    std::string name;
    size_t program;
  };

  // Without products in float32 eager TF32 is the same program, and need not be timed twice; without matrix
  // products it is what PyTorch does by itself.
  std::vector<EagerForm> MakeEager() {
    std::vector<Fp32Precision> contracts = {Fp32Precision::kIeee, Fp32Precision::kTf32};
    if (task_.options.fp32_precision == Fp32Precision::kPytorch)
      contracts.insert(contracts.begin() + 1, Fp32Precision::kPytorch);
    std::vector<EagerForm> forms;
    for (const Fp32Precision contract : contracts) {
      const std::string name(EagerName(contract));
      if (!forms.empty() && !MultipliesFloat32(task_.plan)) {
        forms.push_back({name, forms.front().program});
        continue;
      }
      programs_.push_back(Make(name, task_.plan, 0, contract));
      const auto same = std::ranges::find_if(forms, [&](const EagerForm& form) {
        return programs_[form.program]->SameKernels(*programs_.back());
      });
      if (same != forms.end()) programs_.pop_back();
      forms.push_back({name, same != forms.end() ? same->program : programs_.size() - 1});
    }
    return forms;
  }

  // Programs that write to their inputs do not share them.
  std::shared_ptr<TimedInputs> Inputs() {
    if (task_.mutates() || !inputs_) inputs_ = std::make_shared<TimedInputs>(task_, setting_);
    return inputs_;
  }

  std::unique_ptr<TimedPlan> Make(std::string name, const Plan& plan, int variant, Fp32Precision libraries) {
    ReplayOptions options = options_;
    options.variant = variant;
    options.libraries = libraries;
    const Bindings& bindings = &plan == &task_.plan ? setting_.bindings : bindings_;
    return std::make_unique<TimedPlan>(std::move(name), task_, Inputs(), plan, bindings, options);
  }

  // Programs take turns; the answers of the candidate are checked on the way and at the end.
  cuda::TimingReport Measure(bool by_graph, const cuda::TimingOptions& clock) {
    std::vector<cuda::Timed> timed;
    for (auto& program : programs_) timed.push_back(program->Timed(by_graph, program == programs_.front()));
    cuda::TimingReport report = Gpu::Current()->timer().TimeInterleaved(timed, clock);
    if (!programs_.front()->answered()) {
      timed.front().prepare(Gpu::Current()->stream());
      timed.front().run(Gpu::Current()->stream());
    }
    programs_.front()->CheckAnswer();
    return report;
  }

  // Answers of a task whose trials are made again for each look, when nothing else needs the memory.
  void CheckPutAside() {
    const std::vector<TimedAnswer> answers = programs_.front()->TakeAnswers();
    if (answers.empty()) return;
    const Stage stage(kAnswersWait);
    programs_.clear();
    inputs_.reset();
    Gpu::Current()->TidyMemory();
    for (const TimedAnswer& answer : answers) CheckTimedAnswer(task_, answer);
  }

  std::vector<ProgramTimes> TimesOf(bool graphs, const cuda::TimingReport& main,
                                    const cuda::TimingReport& other) const {
    std::vector<ProgramTimes> all;
    for (size_t i = 0; i < programs_.size(); ++i) {
      ProgramTimes times{programs_[i]->name(), main.timings[i], {}, {}};
      (graphs ? times.graph_median : times.replay_median) = main.timings[i].summary.median;
      if (!other.timings.empty()) times.replay_median = other.timings[i].summary.median;
      all.push_back(std::move(times));
    }
    return all;
  }

  // Step by step what was measured by graphs: what the launches themselves cost.
  cuda::TimingReport MeasureOther(bool by_graph) {
    if (!by_graph || !request_.both_methods) return {};
    cuda::TimingOptions brief = request_.clock;
    brief.min_samples = std::min<size_t>(brief.min_samples, 5);
    brief.max_samples = std::max<size_t>(brief.min_samples, 20);
    brief.max_warmup_samples = 1;  // the same programs ran just now
    brief.budget_seconds /= 4;
    return Measure(false, brief);
  }

  void ChooseVariant(const Plan& candidate, Timings* timings) {
    const int count = std::min(variants_, MostVariants(candidate));
    if (count <= 1) return;
    std::vector<std::unique_ptr<TimedPlan>> variants;
    for (int v = 0; v < count; ++v)
      variants.push_back(Make(fmt::format("variant {}", v), candidate, v, options_.libraries));
    const bool graphs =
        std::all_of(variants.begin(), variants.end(), [](const auto& p) { return p->captured(); });
    std::vector<cuda::Timed> timed;
    for (auto& variant : variants) timed.push_back(variant->Timed(graphs, false));
    const cuda::TimingReport report = Gpu::Current()->timer().TimeInterleaved(timed, request_.clock);
    for (const cuda::Timing& timing : report.timings) timings->variants.push_back(timing.summary.median);
    const auto best = std::min_element(timings->variants.begin(), timings->variants.end());
    timings->variant = static_cast<int>(best - timings->variants.begin());
  }

  double Bytes(TensorId id) const {
    const TensorMeta& meta = task_.plan.tensors[id];
    return static_cast<double>(meta.numel()) * static_cast<double>(DtypeSize(meta.dtype));
  }

  std::vector<TensorId> Returned() const {
    std::vector<TensorId> outputs = TensorLeaves(task_.plan.outputs);
    outputs.resize(task_.returned);
    return outputs;
  }

  // What has to be moved once: inputs and state that reach an output, and the outputs.
  double CompulsoryBytes() const {
    double bytes = 0;
    std::vector<TensorId> moved = TensorLeaves(task_.plan.inputs);
    for (const StateEntry& entry : task_.plan.state) moved.push_back(entry.tensor);
    for (TensorId id : moved) bytes += task_.flow.Reaches(task_.plan, id) ? Bytes(id) : 0;
    for (TensorId id : Returned()) bytes += Bytes(id);
    return bytes;
  }

  // Reads that no program can avoid: of inputs that visibly reach an output, from a cold L2. Of what is
  // written, an L2 full may still lie there; and who says that another program needs as many operations.
  double UnavoidableBytes() const {
    double read = 0, written = 0;
    const std::vector<TensorId> inputs = TensorLeaves(task_.plan.inputs);
    for (const int leaf : task_.sensitive_inputs) {
      // Of one that is written, most may stay as it is.
      if (!task_.mutates_input[leaf]) read += UnavoidableReads(task_.plan, task_.flow, inputs[leaf]);
    }
    for (TensorId id : Returned()) written += Bytes(id);
    const auto l2 = static_cast<double>(Gpu::Current()->info().l2_bytes);
    return read + std::max(0.0, written - l2);
  }

  void FillRoofline(Timings* timings) const {
    const cuda::DeviceInfo& info = Gpu::Current()->info();
    const std::vector<TensorId> outputs = TensorLeaves(task_.plan.outputs);
    const Dtype dtype = task_.plan.tensors[outputs.front()].dtype;
    timings->flops = task_.work.flops;
    timings->bytes = CompulsoryBytes();
    timings->peak_flops = cuda::FlopsPerClockPerSm(info.capability, dtype) * info.sm_count * info.sm_clock_hz;
    timings->peak_bytes_per_s = info.memory_bandwidth;
    timings->floor_us = 1e6 * cuda::RooflineFloor(timings->flops, timings->bytes, dtype, info);
    timings->bytes_bound =
        timings->floor_us <= 1e6 * cuda::RooflineFloor(0, timings->bytes, dtype, info) * (1 + 1e-9);
    const double least = 1e6 * cuda::RooflineFloor(0, UnavoidableBytes(), dtype, info);
    const double fastest = timings->candidate.timing.summary.median;
    if (fastest >= kFloorSlack * least) return;
    throw TimingObjection{
        {Outcome::kRejected,
         fmt::format("{:.3g} us is less than the {:.3g} us that reading the inputs takes", fastest, least),
         "roofline"}};
  }

  const Task::Impl& task_;
  const Setting& setting_;
  const Bindings& bindings_;  // of the candidate's state
  const int variants_;        // the first so many may be chosen
  const TimingRequest request_;
  const bool against_itself_;
  ReplayOptions options_;  // of the candidate, as the contract allows
  std::shared_ptr<TimedInputs> inputs_;
  std::vector<std::unique_ptr<TimedPlan>> programs_;
};

nlohmann::json TimesJson(const ProgramTimes& times) {
  const cuda::Summary& summary = times.timing.summary;
  auto optional = [](const std::optional<double>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  return {{"name", times.name},
          {"median_us", summary.median},
          {"q1_us", summary.lower_quartile},
          {"q3_us", summary.upper_quartile},
          {"samples_us", times.timing.samples},
          {"graph_median_us", optional(times.graph_median)},
          {"replay_median_us", optional(times.replay_median)}};
}

}  // namespace

nlohmann::json Timings::ToJson() const {
  nlohmann::json baseline_list = nlohmann::json::array(), speedup = nlohmann::json::object(),
                 variant_list = nlohmann::json::array();
  for (const ProgramTimes& baseline : baselines) {
    baseline_list.push_back(TimesJson(baseline));
    speedup[baseline.name] = baseline.timing.summary.median / candidate.timing.summary.median;
  }
  for (size_t v = 0; v < variants.size(); ++v)
    variant_list.push_back({{"variant", v}, {"median_us", variants[v]}});
  nlohmann::json json = {{"device", device},
                         {"driver", driver},
                         {"method", graphs ? "graph" : "replay"},
                         {"candidate", TimesJson(candidate)},
                         {"baselines", baseline_list},
                         {"speedup", speedup},
                         {"floor_us", floor_us},
                         {"floor_bound", bytes_bound ? "bytes" : "flops"},
                         {"flops", flops},
                         {"bytes", bytes},
                         {"peak_flops", peak_flops},
                         {"peak_bytes_per_s", peak_bytes_per_s},
                         {"clocks",
                          {{"sm_mhz", {clocks.sm_mhz_minimum, clocks.sm_mhz_median, clocks.sm_mhz_maximum}},
                           {"memory_mhz", {clocks.memory_mhz_minimum, clocks.memory_mhz_median}},
                           {"throttle", cuda::ThrottleNames(clocks.throttle_reasons)}}},
                         {"variant", variant},
                         {"variants", variant_list}};
  if (itself) {
    json["itself"] = TimesJson(*itself);
    json["self_ratio"] = candidate.timing.summary.median / itself->timing.summary.median;
  }
  return json;
}

std::variant<Timings, Objection> TimeCandidate(const Task::Impl& task, const Setting& setting,
                                               const Plan& candidate, const Bindings& bindings,
                                               const VerifyOptions& options, int variants) {
  try {
    return Stopwatch(task, setting, bindings, options, variants).Run(candidate);
  } catch (const TimingObjection& wrong) {
    return wrong.objection;
  } catch (const cuda::Hang& hang) {
    Gpu::Current()->GiveUp();
    return Objection{Outcome::kTimeout, hang.what(), ""};
  } catch (const cuda::Error& error) {
    if (SaysOutOfMemory(error)) throw;
    return Objection{Outcome::kRuntimeError, fmt::format("while being timed: {}", error.what()), ""};
  }
}

}  // namespace tritogen
