// Mould: what all programs of one sketch have in common, made once, so that a program costs no more than its
// sizes: its nodes, the parts of its text, the wiring and labels that fingerprints are made of. The plain
// twins are ProgramOf (shapes.h), PrintProgram and Fingerprint.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "program/print.h"
#include "synth/fingerprint.h"
#include "synth/shapes.h"

namespace tritogen::synth {

// Not thread-safe, and not to be moved: its parts refer to each other.
class Mould {
 public:
  explicit Mould(Sketch sketch);
  Mould(const Mould&) = delete;
  Mould& operator=(const Mould&) = delete;

  const Sketch& sketch() const { return sketch_; }
  // Whether the graph's fingerprint hangs on no attribute that is drawn with the sizes.
  bool one_graph() const { return !any_open_; }
  // REQUIRES: one_graph(), or Pour() was called.
  const std::string& GraphFingerprint();

  // Of all graphs that its programs can have, whatever their sizes, and perhaps of some that none has
  // (arguments that equal their defaults are not written). Nothing when there are more than `most`.
  std::optional<std::vector<std::string>> GraphFingerprints(size_t most);

  // Fills in a solution of the sketch's system. What follows speaks of it.
  void Pour(const SketchSystem& system, const std::vector<int64_t>& values);
  const SizedProgram& sized() const { return sized_; }
  std::string SizesFingerprint();
  std::string Text();

 private:
  struct Step {
    OpCall call;         // its NodeRef{i} stands for operand i
    int node = 0;        // of the program
    bool open = false;   // has integer attributes that are drawn with the sizes
    Label sizes, graph;  // without shapes
  };

  void AddInput(int tensor);
  void AddStep(size_t number);
  void Shapes(const SketchSystem& system, const std::vector<int64_t>& values);
  void Attributes(const SketchSystem& system, const std::vector<int64_t>& values);
  std::vector<Label> GraphLabels(size_t number) const;
  void SetCall(size_t number);  // the step's arguments into its node and labels
  void AddFlops();

  Sketch sketch_;
  SizedProgram sized_;
  std::vector<Step> steps_;
  std::vector<NodeRef> refs_;              // by tensor of the sketch
  std::vector<std::string> shape_texts_;   // by tensor
  std::vector<std::vector<int>> tensors_;  // by node, by result: the tensor
  std::vector<int> step_of_;               // by node; −1 for inputs
  Label input_;
  std::unique_ptr<Wiring> wiring_;
  std::unique_ptr<TextParts> text_;
  std::vector<size_t> outdated_;  // nodes whose line is not that of their arguments
  std::vector<Label> labels_;
  std::vector<std::string> graph_labels_;  // that graph_fingerprint_ was made of
  std::string graph_fingerprint_;
  bool any_open_ = false;
};

}  // namespace tritogen::synth
