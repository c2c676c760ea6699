// Texts that people give to synthesis: graphs, sets of sizes, lists of fingerprints, what is held out.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "synth/fingerprint.h"
#include "synth/sampler.h"
#include "synth/shapes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto attempt = [](auto read) {
    try {
      read();
    } catch (const tritogen::UserError&) {
    }
  };
  attempt([&] { tritogen::synth::SystemOf(tritogen::synth::ParseSketch(text), {}); });
  attempt([&] { tritogen::synth::Domain::Parse(text); });
  attempt([&] { tritogen::synth::ReadFingerprints(text); });
  attempt([&] { tritogen::synth::HeldOut::Parse(text); });
  return 0;
}
