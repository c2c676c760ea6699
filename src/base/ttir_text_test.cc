#include "base/ttir_text.h"

#include <gtest/gtest.h>

namespace tritogen {
namespace {

TEST(StripLocationsTest, EqualKernelsFromDifferentFilesBecomeEqual) {
  const char* text = R"ttir(#loc = loc("a.py":7:0)
#loop_annotation = #llvm.loop_annotation<licm = #loop_licm>
#loc1 = loc("x"(#loc))
module {
  tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"(#loc)), %n: i32 loc("n)"(#loc))) {
    %0 = tt.print " loc(kept) ": %n : i32 loc(callsite(#loc1 at #loc))
    tt.return loc(#loc1)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("a.py" : 8 : 4)
)ttir";
  EXPECT_EQ(StripLocations(text), R"ttir(#loop_annotation = #llvm.loop_annotation<licm = #loop_licm>
module {
  tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %0 = tt.print " loc(kept) ": %n : i32
    tt.return
  }
}
)ttir");
}

TEST(StripLocationsTest, BrokenTextEnds) {
  for (const char* text : {"loc(", "x loc(\"", "\"open", "#loc", "\"\\", "alloc(1)"}) StripLocations(text);
  EXPECT_EQ(StripLocations("alloc(1)"), "alloc(1)");
}

}  // namespace
}  // namespace tritogen
