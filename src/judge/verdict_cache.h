// Verdicts of earlier runs, kept in one SQLite file by what decides them: an equal Plan is an equal program.
// Any number of processes may have the file open; each opens it for itself, and closes it before it forks.
//
// The key (VerdictKey) holds the two Plans, the options that change what is asked, the executor, what judged
// (this very program, so that no verifier answers with another one's verdict), and the seed policy:
//
//   a seed that the user gave    is part of the key: judging is a function of it, so reuse changes nothing.
//   a seed drawn in secret       is not: the key says only that it was drawn. A kept verdict is then one draw
//                                that all later runs share. A fault that was found stays a fault. A pass is
//                                weaker: a wrong program that passes a draw with probability p would be
//                                caught by the next one with 1 − p, and from the cache never. Proposing the
//                                same Plan again buys no second draw, but luck would last. So every
//                                kSpotCheck-th pass, chosen at random, is judged anew under a new seed, and
//                                the new verdict takes its place, whatever it is.
//
// Kept is only what another run would have to say as well: passed, the faults that were seen in values,
// shapes, dtypes and memory, and rejections, but for those that a clock decided. Never kept: infra_error,
// timeout, killed, nondeterministic, compile_error and runtime_error (memory or time may have run out), and
// what was judged in a hurry (Verdict::hurried). Times in a kept verdict are those measured then.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "verify/verdict.h"
#include "verify/verifier.h"

namespace tritogen {

struct VerdictCacheOptions {
  std::filesystem::path file;  // its folder is made; must lie on a disk of this machine (SQLite's WAL)
  std::string verifier;        // names what judges: hash of this program, versions of torch and Triton
  bool seed_is_drawn = false;  // in secret, and not given by the user
  int64_t max_bytes = int64_t{256} << 20;
};

// `executor`: "tile machine", or the GPU's name and its driver's version.
std::string VerdictKey(const VerdictCacheOptions& cache, const VerifyOptions& options,
                       std::string_view executor, std::string_view candidate_hash,
                       std::string_view reference_hash);

// Never fails: what cannot be read was not kept, what cannot be written is not kept. Not thread-safe.
class VerdictCache {
 public:
  // A file that is damaged, or somebody else's, is renamed and a new one begun.
  explicit VerdictCache(VerdictCacheOptions options);
  ~VerdictCache();
  VerdictCache(const VerdictCache&) = delete;

  const VerdictCacheOptions& options() const;
  bool usable() const;        // false: nothing is found and nothing kept
  std::string TakeWarning();  // what the user should know, one line, given once; empty: nothing

  // The kept Verdict, with `made`. A pass holds for every source that gives this Plan; the evidence of any
  // other verdict names lines, so it holds for the source it was made of. Some passes are not found, see
  // above.
  std::optional<Verdict> Find(std::string_view key, std::string_view source);
  // Keeps it, or what is worth no keeping takes the old one away.
  void Keep(std::string_view key, std::string_view source, const Verdict& verdict);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline constexpr int kSpotCheck = 16;

}  // namespace tritogen
