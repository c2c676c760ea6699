// Writes the body of one kernel: loads, expressions and stores of a group's members, once the kernel has said
// what its axes are called. Flat, row and matrix kernels share it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "program/names.h"
#include "teach/partition.h"

namespace tritogen::teach {

// How an axis appears in the code.
struct AxisCode {
  std::string index;  // "cols", "offs_m[:, None]"; empty where the axis has one element
  std::string mask;   // "col_mask"; empty when no index is out of range
  // Of an axis that two loops go along `index` is that of an element in its line, of so many, and this is the
  // line's.
  std::string lines = "";
  int64_t line = 0;
};

// The index of an element on the whole axis, which has these dimensions.
std::string WholeIndex(const AxisCode& axis, const std::vector<int64_t>& dimensions);

// A set of axes.
class Axes {
 public:
  void Add(AxisKind axis) { bits_ |= 1u << static_cast<int>(axis); }
  void Add(Axes other) { bits_ |= other.bits_; }
  bool Has(AxisKind axis) const { return (bits_ >> static_cast<int>(axis) & 1u) != 0; }
  bool Covers(Axes other) const { return (other.bits_ & ~bits_) == 0; }
  // Moves from one step of a loop to the next.
  bool Columns() const { return Has(AxisKind::kColumn) || Has(AxisKind::kFlat); }

 private:
  unsigned bits_ = 0;
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
  // The statement that puts a scatter's entries into their elements.
  void Scatter(PrimId id);
  bool IsScatter(PrimId id) const { return graph_[id].kind == PrimKind::kScatter; }
  // Address of element (indices of the axes) of a view, with the axes that it depends on.
  struct Place {
    std::string offset, mask;
    Axes axes;  // that the address moves along or a guard looks at
  };
  Place PlaceOf(const View& view, const std::vector<Segment>& domain, bool per_row) const;
  std::string Load(const View& view, const Place& place);

  // Code between the two works on other axes than the group's: an operand of a product, whose elements are
  // those of `domain` in order. Nothing computed there is known outside.
  void BeginOperand(const std::vector<Segment>& domain);
  void EndOperand();

  // Where the lines go. In a loop over columns, `body` is the loop's and `outer` stands before it.
  Lines* body = nullptr;
  Lines* outer = nullptr;
  // Forgets what was emitted into a loop that has ended.
  void EndLoop() {
    in_loop_.clear();
    loads_in_loop_.clear();
  }
  void Bind(PrimId id, std::string variable, Dtype dtype, Axes axes) {
    kept_[id] = {std::move(variable), dtype, axes};
  }
  bool IsBound(PrimId id) const { return kept_.count(id) + in_loop_.count(id) > 0; }
  // The axes that a member's tile has.
  Axes AxesOf(PrimId id) const;

  std::string Name(const std::string& wish) { return names_.Unique(wish); }
  // For a prim that the kernel computes.
  std::string NameOf(PrimId id, const char* suffix = "") { return names_.Unique(buffers_[id] + suffix); }
  std::string Pointer(PrimId id);                                    // its parameter
  const std::vector<PrimId>& pointers() const { return pointers_; }  // in order of the parameters
  bool wide() const { return wide_; }                                // offsets pass 2^31
  // Quotients and remainders in addresses that no shift gives.
  const std::set<std::string>& divided() const { return divided_; }

 private:
  struct Variable {
    std::string name;
    Dtype dtype;
    Axes axes;
  };
  Variable Emit(PrimId id, bool per_row);
  Variable Operand(const View& view, bool per_row);
  std::string LoadText(const Prim& prim, const std::vector<std::string>& in, const std::vector<Axes>& axes,
                       bool per_row);
  Variable LoadOnce(const View& view, bool per_row);
  Variable Find(PrimId id) const;
  bool IsComputed(const View& view) const;  // in this kernel, rather than loaded

  const Graph& graph_;
  const Group& group_;
  const std::vector<std::string>& buffers_;
  NameTable names_;
  std::vector<PrimId> pointers_;
  std::map<PrimId, std::string> pointer_names_;
  const std::vector<Segment>* domain_;
  std::map<PrimId, Variable> kept_, in_loop_;
  std::map<std::string, Variable> loads_kept_, loads_in_loop_;  // by address and mask
  std::map<PrimId, Variable> outside_kept_;                     // of BeginOperand
  std::map<std::string, Variable> outside_loads_;
  bool wide_ = false;
  mutable std::set<std::string> divided_;
};

// `variable` in another dtype: ".to(tl.float32)" appended where needed.
std::string Converted(const std::string& variable, Dtype have, Dtype want);

}  // namespace tritogen::teach
