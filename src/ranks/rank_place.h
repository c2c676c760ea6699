// Where a process stands among the ranks of a run, as torchrun and Slurm say it.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace tritogen {

struct RankPlace {
  int rank = 0, size = 1;
  int local = 0;        // among those of this machine: which GPU
  std::string address;  // of the store
  uint16_t port = 0;
  bool store_is_there = false;  // torchrun keeps one; otherwise rank 0 does
  std::string run;              // attempts at one run do not meet each other
  double timeout_seconds = 300;
};

// Another rank is gone.
class RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `variable`: the environment's, null where there is none. torchrun: RANK, WORLD_SIZE, LOCAL_RANK,
// MASTER_ADDR, MASTER_PORT. Slurm (srun): SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, the first node of
// SLURM_JOB_NODELIST; MASTER_ADDR and MASTER_PORT go before. One rank where there is neither. Throws
// UserError for what does not fit together.
RankPlace FindRankPlace(const std::function<const char*(const char*)>& variable);

// "node[003-007,9],other" → "node003".
std::string FirstNode(const std::string& list);

}  // namespace tritogen
