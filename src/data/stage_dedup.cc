// dedup: of answers to one program that do the same, the first is kept. Programs are unlike each other from
// the start (synth::Sampler); answers to different programs are different examples, whatever their kernels.
#include <set>

#include "data/stages.h"

namespace tritogen::data {
namespace {

class Dedup : public Stage {
 public:
  std::string_view name() const override { return "dedup"; }
  Place place() const override { return Place::kVerdict; }

  void Describe(config::Fields* f) override {
    static const std::vector<std::string> kKeys{"plan", "source"};
    f->Choice("by", &by_, kKeys);
  }

  void Run(std::vector<Record>* batch, const StageTools&) override {
    std::set<std::string> seen;
    for (Record& record : *batch) {
      const bool by_plan = by_ == "plan" && !record.plan_hash.empty();  // none: it was never recorded
      const std::string key = record.fingerprint + (by_plan ? record.plan_hash : record.source);
      if (!seen.insert(key).second) record.dropped = "duplicate " + by_;
    }
  }

 private:
  std::string by_ = "plan";
};

}  // namespace

std::unique_ptr<Stage> MakeDedup() {
  return std::make_unique<Dedup>();
}

}  // namespace tritogen::data
