#include "verify/aten_random.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <mutex>
#include <utility>

namespace tritogen {
namespace {

std::mutex default_generator_mutex;

at::Generator DefaultGenerator() {
  return at::globalContext().defaultGenerator(at::kCPU);
}

void CopyState(const at::Generator& from, at::Generator to) {
  // The clone has the engine's state and the cached normal sample, without the detour over a tensor.
  auto source = from.get<at::CPUGeneratorImpl>();
  auto target = to.get<at::CPUGeneratorImpl>();
  target->set_engine(source->engine());
  target->set_next_float_normal_sample(source->next_float_normal_sample());
  target->set_next_double_normal_sample(source->next_double_normal_sample());
}

}  // namespace

ReplayRandom::ReplayRandom() : generator_(at::make_generator<at::CPUGeneratorImpl>()) {}

void ReplayRandom::Seed(uint64_t seed, at::Device device) {
  seed_ = seed;
  device_ = device;
}

// Most replays draw nothing, and a CPU's generator takes its time to be seeded.
void ReplayRandom::Start() {
  if (!seed_) return;
  const uint64_t seed = *std::exchange(seed_, std::nullopt);
  generator_.set_current_seed(seed);
  if (device_.is_cpu()) return;
  at::Generator generator = at::globalContext().defaultGenerator(device_);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(seed);
}

ReplayRandom::Exchange::Exchange(at::Generator& own) : own_(own) {
  default_generator_mutex.lock();
  CopyState(own_, DefaultGenerator());
}

ReplayRandom::Exchange::~Exchange() {
  CopyState(DefaultGenerator(), own_);
  default_generator_mutex.unlock();
}

}  // namespace tritogen
