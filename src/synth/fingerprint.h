// Fingerprints: equal for programs that are the same up to names, order of independent operations, order of
// inputs and outputs, and order of commutative operands; unlike otherwise.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "program/program.h"

namespace tritogen::synth {

enum class Detail {
  kSizes,  // sizes and all arguments count
  kGraph,  // only operators and wiring: "the same program in other shapes"
};

// 32 hexadecimal digits: SHA-256, cut, of a canonical text of the program. Dead operations do not count.
// The text is canonical (equal exactly for isomorphic programs) as long as the search for it meets fewer than
// kMostLabelings labelings; highly symmetric programs beyond that may get unlike fingerprints, never equal
// ones wrongly.
std::string Fingerprint(const Program& program, Detail detail);
inline constexpr int kMostLabelings = 512;

// Fingerprints that must not come (again). Lines of `text` are fingerprints, or JSON objects with the keys
// "fingerprint" and "graph_fingerprint". Throws UserError naming the line that is neither.
std::set<std::string> ReadFingerprints(std::string_view text);

}  // namespace tritogen::synth
