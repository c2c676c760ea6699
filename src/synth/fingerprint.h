// Fingerprints: equal for programs that are the same up to names, order of independent operations, order of
// inputs and outputs, and order of commutative operands; unlike otherwise.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// The same in two steps, for many programs of one graph (mould.h): what operations are, and how they hang
// together.

// What an operation is, with its hash so far.
struct Label {
  std::string text;
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  void Append(std::string_view more) {
    text += more;
    for (char c : more) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }
};
// Of a node without its results' shapes; its operands become a place each.
Label LabelOf(const Node& node, Detail detail);

class Wiring {
 public:
  explicit Wiring(const Program& program);

  struct Edge {
    int node, result, place;
    auto operator<=>(const Edge&) const = default;
  };
  // The program's nodes that an output needs. Everything below is by place in this list.
  std::vector<int> nodes;
  std::vector<std::vector<Edge>> operands, uses;
  std::vector<std::pair<int, int>> outputs;
};
// `labels`: of the wiring's nodes, with shapes for Detail::kSizes.
std::string FingerprintOf(const Wiring& wiring, std::span<const Label> labels);

// Fingerprints that must not come (again). Lines of `text` are fingerprints, or JSON objects with the keys
// "fingerprint" and "graph_fingerprint". Throws UserError naming the line that is neither.
std::set<std::string> ReadFingerprints(std::string_view text);

}  // namespace tritogen::synth
