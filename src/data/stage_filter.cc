// filter: which answers are good enough to learn from.
#include <fmt/format.h>

#include "data/stages.h"

namespace tritogen::data {
namespace {

class Filter : public Stage {
 public:
  std::string_view name() const override { return "filter"; }
  Place place() const override { return Place::kVerdict; }

  void Describe(config::Fields* f) override {
    f->Double("min_work_share", &min_work_share_, 0, 1);
    f->Double("max_error_share", &max_error_share_, 0, 1);
    f->Int("max_reference_bytes", &max_reference_bytes_, 1, kMost);
    f->Int("max_source_bytes", &max_source_bytes_, 1, kMost);
    f->Int("max_plan_bytes", &max_plan_bytes_, 1, kMost);
  }

  void Run(std::vector<Record>* batch, const StageTools&) override {
    for (Record& record : *batch) record.dropped = Why(record);
  }

 private:
  static constexpr int64_t kMost = int64_t{1} << 30;

  std::string Why(const Record& record) const {
    if (record.verdict != "passed") return "";  // the pipeline drops it by itself, after all stages
    if (std::min(record.work_flops, record.work_bytes) < min_work_share_)
      return fmt::format("work share below {}", min_work_share_);
    if (ErrorShare(record.full_verdict) > max_error_share_)
      return fmt::format("error above {} of its budget", max_error_share_);
    const std::pair<int64_t, int64_t> lengths[] = {{record.reference.size(), max_reference_bytes_},
                                                   {record.source.size(), max_source_bytes_},
                                                   {record.plan.size(), max_plan_bytes_}};
    constexpr const char* kNames[] = {"reference", "source", "plan"};
    for (size_t i = 0; i < std::size(lengths); ++i) {
      if (lengths[i].first > lengths[i].second)
        return fmt::format("{} longer than {} bytes", kNames[i], lengths[i].second);
    }
    return "";
  }

  // Which share of its error budget an answer uses, over the outputs.
  static double ErrorShare(const nlohmann::json& verdict) {
    double worst = 0;
    if (!verdict.is_object() || !verdict.contains("outputs")) return worst;
    for (const nlohmann::json& output : verdict.at("outputs")) {
      if (!output.value("error", nlohmann::json()).is_number()) continue;
      const double error = output.at("error"), budget = output.value("budget", 0.0);
      if (error > 0) worst = std::max(worst, budget > 0 ? error / budget : 1.0);
    }
    return worst;
  }

  double min_work_share_ = 0, max_error_share_ = 1;
  int64_t max_reference_bytes_ = 16384, max_source_bytes_ = 16384, max_plan_bytes_ = 16384;
};

}  // namespace

std::unique_ptr<Stage> MakeFilter() {
  return std::make_unique<Filter>();
}

}  // namespace tritogen::data
