// Stage: one step of the pipeline, a function over a batch of records. A stage may change records, add some,
// or drop them by saying why (Record::dropped); the pipeline counts those by reason. To add one: a file
// stage_NAME.cc with a class, and its line in the table of stage.cc. It is switched on by a table
// [[stage]] name = "NAME" in the configuration, whose other keys are its options.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"
#include "data/record.h"
#include "propose/proposer.h"

namespace tritogen::data {

// Where in the pipeline a stage stands:
//   draw → kTask → teacher → kAnswer → judges → kVerdict → shard
enum class Place {
  kTask,    // records have a task and no answer: change the reference file, add variants, label
  kAnswer,  // answers, not yet judged: clean, rewrite, filter by what text shows
  kVerdict  // judged, failures among them: label difficulty, filter, deduplicate
};

struct StageTools {
  uint64_t seed = 0;            // of the set; randomness is SplitMix::At(seed, record.draw) and the like
  Proposer* teacher = nullptr;  // whichever is configured
};

// One object lives for a whole build. What Run gives must depend on the batch and the options alone, never on
// earlier batches, the clock or the number of judges: builds are interrupted, cut into slices, and must come
// out the same. Runs on the pipeline's thread while judges work; may use threads of its own if it joins them.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::string_view name() const = 0;
  virtual Place place() const = 0;
  // Its options, each named once (config/fields.h).
  virtual void Describe(config::Fields* fields) {}
  // `batch`: the records of some successive programs, in order, those of one program side by side. Dropped
  // records do not come here.
  virtual void Run(std::vector<Record>* batch, const StageTools& tools) = 0;
};

// Throws UserError naming the nearest stage there is.
std::unique_ptr<Stage> MakeStage(std::string_view name);
std::vector<std::string> StageNames();

}  // namespace tritogen::data
