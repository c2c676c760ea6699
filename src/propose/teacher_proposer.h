// The teacher as a Proposer.
#pragma once

#include "propose/proposer.h"

namespace tritogen {

class TeacherProposer : public Proposer {
 public:
  std::string_view name() const override { return "teacher"; }
  // REQUIRES: request.program is set. request.reference may be null; then forward takes the program's inputs
  // in order, and the answer does not need the reference's file.
  std::vector<Candidate> Propose(const ProposeRequest& request) override;
};

}  // namespace tritogen
