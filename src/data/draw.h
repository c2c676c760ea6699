// The programs of a set, in order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/options.h"
#include "data/record.h"
#include "synth/sampler.h"

namespace tritogen::data {

// Deterministic: draw i is the same program in every run. Levels are mixed evenly: after any number of draws,
// each has had its share of them, to within one.
class Draw {
 public:
  // Reads the files of fingerprints to avoid. Throws UserError naming one that cannot be read.
  explicit Draw(const BuildOptions& options);
  // Programs of such levels. `only_held_out`: what is held out comes alone, instead of everything else.
  // `shown`: of these programs only those of one side come, in the same order (and are numbered without the
  // others).
  Draw(uint64_t seed, const ProgramOptions& programs, const std::vector<LevelOptions>& levels,
       bool only_held_out = false, synth::Side shown = synth::Side::kAll,
       std::shared_ptr<synth::CountedKept> kept = nullptr);

  // The next program as a Record without an answer. REQUIRES: next() < the set's number of programs. Throws
  // UserError when the constraints leave none.
  Record Next();
  // Draws what comes before draw `number` without making records of it: the levels side by side, in threads
  // that are gone when it returns. False: `stop` said so, and this object is of no more use. REQUIRES: next()
  // <= number.
  bool SkipTo(int64_t number, const std::function<bool()>& stop);
  // The number of the next draw.
  int64_t next() const { return next_; }

 private:
  struct Level {
    int64_t programs, drawn = 0;
    std::unique_ptr<synth::Sampler> sampler;
  };
  Level* Due();

  uint64_t seed_;
  double test_share_;
  bool split_by_graph_;
  int64_t total_, next_ = 0;
  std::vector<Level> levels_;
};

}  // namespace tritogen::data
