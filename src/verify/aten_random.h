// The random numbers of one replay: what torch.manual_seed(seed) would give on its device, on a CPU whatever
// other replays draw meanwhile.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace tritogen {

class ReplayRandom {
 public:
  ReplayRandom();
  // Takes effect at the next Draw. A GPU's own generator is seeded, too: of replays that draw, one at a time
  // runs there.
  void Seed(uint64_t seed, at::Device device);

  // Runs `draw` while the process's default CPU generator stands in for this one. Most operators draw from
  // the default generator without a parameter for another, so all go this way; one replay draws at a time.
  template <typename F>
  void Draw(const F& draw) {
    Start();
    const Exchange exchange(generator_);
    draw();
  }

 private:
  void Start();

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
  at::Device device_ = at::kCPU;
  std::optional<uint64_t> seed_;  // that nothing was drawn from yet
};

}  // namespace tritogen
