// What torch.compile writes, made plain (inductor_clean.h), as a Proposer. Needs no GPU: worker/inductor.py.
#pragma once

#include <map>

#include "base/line_process.h"
#include "propose/proposer.h"

namespace tritogen {

struct InductorOptions {
  std::string python, worker_folder;
  double seconds_per_program = 60, seconds_to_start = 120;
};

class InductorProposer : public Proposer {
 public:
  explicit InductorProposer(InductorOptions options)
      : options_(std::move(options)), process_({options_.python, options_.worker_folder + "/inductor.py"}) {}

  std::string_view name() const override { return "inductor"; }
  // One candidate at most. REQUIRES: request.program is set.
  std::vector<Candidate> Propose(const ProposeRequest& request) override;
  std::vector<std::string> TakeRemarks() override;

 private:
  InductorOptions options_;
  LineProcess process_;                 // it takes seconds to start
  std::map<std::string, int> reasons_;  // why there was no candidate, and how often
};

}  // namespace tritogen
