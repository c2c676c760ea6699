// The random numbers of one replay: what torch.manual_seed(seed) would give on its device, on a CPU whatever
// other replays draw meanwhile.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <cstdint>

namespace tritogen {

class ReplayRandom {
 public:
  ReplayRandom();
  // A GPU's own generator is seeded, too: one replay at a time runs there.
  void Seed(uint64_t seed, at::Device device);

  // Runs `draw` while the process's default CPU generator stands in for this one. Most operators draw from
  // the default generator without a parameter for another, so all go this way; one replay draws at a time.
  template <typename F>
  void Draw(const F& draw) {
    Exchange exchange(generator_);
    draw();
  }

 private:
  class Exchange {
   public:
    explicit Exchange(at::Generator& own);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

   private:
    at::Generator& own_;
  };

  at::Generator generator_;
};

}  // namespace tritogen
