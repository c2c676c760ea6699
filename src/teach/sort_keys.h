// Numbers that compare as the elements of a line do, for networks and selections that know numbers alone.
#pragma once

#include "teach/lowering.h"

namespace tritogen::teach {

// The smallest key is that of the element that comes first. All NaN are one, the largest, and so are both
// zeros. `numbered`: below an element stands its number in the line, so that no two keys are equal and their
// order is stable.
class SortKeys {
 public:
  SortKeys(Dtype dtype, int64_t length, bool descending, bool numbered);

  // Whether 32 bits say how an element of this dtype compares.
  static bool Fit(Dtype dtype);

  // int32, or int64 where an element and its number do not fit into that.
  Dtype dtype() const { return wide_ ? Dtype::kInt64 : Dtype::kInt32; }
  // REQUIRES: the elements have the dtype; numbers are less than the length, or their elements come last.
  Value Of(Builder& b, const Value& elements, const Value& number) const;
  Value Element(Builder& b, const Value& key) const;
  Value Number(Builder& b, const Value& key) const;  // int32. REQUIRES: numbered

 private:
  Value OfElement(Builder& b, const Value& x) const;

  Dtype element_;
  bool descending_, numbered_;
  bool half_;  // an element takes 16 bits, the upper ones
  bool wide_;
};

}  // namespace tritogen::teach
