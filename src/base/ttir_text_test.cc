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

TEST(StripLocationsTest, NothingThatRunsIsHidden) {
  EXPECT_EQ(StripLocations("// loc(\n%x = real\n// )\n%y"), "\n%x = real\n\n%y");
  EXPECT_EQ(StripLocations("%x \"// loc(\" // \"\n%y loc(a // )\n) %z"), "%x \"// loc(\"\n%y %z");
  EXPECT_EQ(StripLocations("{a =\n#loc1} %x = real\n%y"), "{a =\n#loc1} %x = real\n%y");
  EXPECT_EQ(StripLocations("#loc1 = loc(a) %x = real\n%y"), "#loc1 = loc(a) %x = real\n%y");
  EXPECT_EQ(StripLocations("#a = loc(\nmodule\n#b = )"), "#a = loc(\nmodule\n#b = )");
  EXPECT_EQ(StripLocations("#loc1 = loc(a)\n%y"), "%y");
  EXPECT_EQ(StripLocations("tt.func public @loc(%x: i32 loc(#loc1))"), "tt.func public @loc(%x: i32)");
  EXPECT_EQ(StripLocations("tt.call @a.loc(%x) : (i32) -> ()"), "tt.call @a.loc(%x) : (i32) -> ()");
}

TEST(StripLocationsTest, BrokenTextEnds) {
  for (const char* text : {"loc(", "x loc(\"", "\"open", "#loc", "\"\\", "alloc(1)"}) StripLocations(text);
  EXPECT_EQ(StripLocations("alloc(1)"), "alloc(1)");
}

}  // namespace
}  // namespace tritogen
