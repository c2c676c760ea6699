// Writes the body of one kernel: loads, expressions and stores of a group's members, once the kernel has said
// what its axes are called. Flat, row and matrix kernels share it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/names.h"
#include "teach/partition.h"

namespace tritogen::teach {

// How an axis appears in the code.
struct AxisCode {
  std::string index;  // "cols", "offs_m[:, None]"; empty where the axis has one element
  std::string mask;   // "col_mask"; empty when no index is out of range
};

// Lines of Python at one indentation.
class Lines {
 public:
  explicit Lines(int indent = 1) : indent_(indent) {}
  void Add(const std::string& line);
  void AddDeeper(const Lines& other) { text_ += other.text_; }
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  int indent_;
  std::string text_;
};

class TileCode {
 public:
  // `buffers`: the name of every stored value. References must outlive this.
  TileCode(const Graph& graph, const Group& group, const std::vector<std::string>& buffers);

  std::map<AxisKind, AxisCode> axes;

  // Variable of a member or of a loaded operand, emitting what it takes into `body`, what does not depend on
  // columns into `outer`. `dtype`: what it shall be in.
  std::string Read(const View& view, bool per_row, Dtype dtype);
  std::string Member(PrimId id);
  void Store(PrimId id);
  // Address of element (indices of the axes) of a view, with the axes that it depends on.
  struct Place {
    std::string offset, mask;
    bool varies_by_column;
  };
  Place PlaceOf(const View& view, const std::vector<Segment>& domain, bool per_row) const;
  std::string Load(const View& view, const Place& place);

  // Where the lines go. In a loop over columns, `body` is the loop's and `outer` stands before it.
  Lines* body = nullptr;
  Lines* outer = nullptr;
  // Forgets what was emitted into a loop that has ended.
  void EndLoop() {
    in_loop_.clear();
    loads_in_loop_.clear();
  }
  void Bind(PrimId id, std::string variable, Dtype dtype) { kept_[id] = {std::move(variable), dtype, true}; }
  bool IsBound(PrimId id) const { return kept_.count(id) + in_loop_.count(id) > 0; }
  // Whether a member's tile has columns, not just one element for each row.
  bool HasColumns(PrimId id) const;

  std::string Name(const std::string& wish) { return names_.Unique(wish); }
  std::string Pointer(PrimId id);                                    // its parameter
  const std::vector<PrimId>& pointers() const { return pointers_; }  // in order of the parameters
  bool wide() const { return wide_; }                                // offsets pass 2^31

 private:
  struct Variable {
    std::string name;
    Dtype dtype;
    bool columns;
  };
  Variable Emit(PrimId id);
  Variable LoadOnce(const View& view, bool per_row);
  Variable Find(PrimId id) const;

  const Graph& graph_;
  const Group& group_;
  const std::vector<std::string>& buffers_;
  NameTable names_;
  std::vector<PrimId> pointers_;
  std::map<PrimId, std::string> pointer_names_;
  std::map<PrimId, Variable> kept_, in_loop_;
  std::map<std::string, Variable> loads_kept_, loads_in_loop_;  // by address and mask
  bool wide_ = false;
};

// `variable` in another dtype: ".to(tl.float32)" appended where needed.
std::string Converted(const std::string& variable, Dtype have, Dtype want);

}  // namespace tritogen::teach
