#include "report/html.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/highlight.h"
#include "report/svg.h"

namespace tritogen::report {
namespace {

TEST(Escape, LeavesNothingThatAPageWouldRead) {
  EXPECT_EQ(Escape("<b a=\"x\" c='y'>&amp;"), "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;amp;");
  EXPECT_EQ(Escape("é – µ\n\t"), "é – µ\n\t");
}

TEST(Escape, ShowsWhatAReaderCannotSee) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(Escape(std::string("a\0b\x1b", 4)), "a" + mark + "b" + mark);
  EXPECT_EQ(Escape("\xff\xc3"), mark + mark) << "malformed";
  EXPECT_EQ(Escape("x\xe2\x80\xaey\xe2\x81\xa6"), "x" + mark + "y" + mark) << "direction overrides";
  EXPECT_EQ(Escape("\xe2\x80\x93"), "\xe2\x80\x93") << "an en dash";
}

TEST(Number, KeepsThreeDigits) {
  EXPECT_EQ(Number(0), "0");
  EXPECT_EQ(Number(12.345), "12.3");
  EXPECT_EQ(Number(0.5), "0.5");
  EXPECT_EQ(Number(1980), "1980");
  EXPECT_EQ(Number(4.5e-4), "4.5 × 10⁻⁴");
  EXPECT_EQ(Number(9.99e-5), "1.0 × 10⁻⁴");
  EXPECT_EQ(Number(2e13), "2.0 × 10¹³");
  EXPECT_EQ(Number(-2), "−2");
  EXPECT_EQ(Number(NAN), "NaN");
  EXPECT_EQ(Microseconds(12.04), "12.0 µs");
  EXPECT_EQ(Microseconds(7000), "7.00 ms");
  EXPECT_EQ(WithPrefix(4.8e12), "4.8 T");
  EXPECT_EQ(WithPrefix(999.7), "1 k");
}

TEST(Axis, HasRoundTicksInsideItsEnds) {
  const Axis linear = Axis::Linear(23);
  EXPECT_DOUBLE_EQ(linear.Percent(11.5), 50);
  EXPECT_DOUBLE_EQ(linear.Percent(1000), 100) << "held at the end";
  std::string labels;
  for (const auto& tick : linear.Ticks(5)) labels += tick.label + " ";
  EXPECT_EQ(labels, "0 5 10 15 20 ");
  const Axis log = Axis::Log(2e-7, 3e-3);
  EXPECT_DOUBLE_EQ(log.low(), 1e-7);
  EXPECT_DOUBLE_EQ(log.high(), 1e-2);
  EXPECT_NEAR(log.Percent(1e-5), 40, 1e-9);
  EXPECT_DOUBLE_EQ(log.Percent(0), 0);
  labels.clear();
  for (const auto& tick : log.Ticks(3)) labels += tick.label + " ";
  EXPECT_EQ(labels, "10⁻⁷ 10⁻⁵ 10⁻³ ");
  EXPECT_LE(Axis::Log(1e-300, 1e300).Ticks(6).size(), 7u);
}

TEST(HighlightPython, NumbersLinesAndEscapesThem) {
  EXPECT_EQ(
      HighlightPython("def f(x):  # <i>\n    return '''a\n<b>'''\n\n", 2),
      "<span class=\"line\"><i class=\"keyword\">def</i> f(x):  <i class=\"comment\"># &lt;i&gt;</i>\n</span>"
      "<span class=\"line marked\">    <i class=\"keyword\">return</i> <i "
      "class=\"string\">&#39;&#39;&#39;a</i>\n</span>"
      "<span class=\"line\"><i class=\"string\">&lt;b&gt;&#39;&#39;&#39;</i>\n</span>");
}

}  // namespace
}  // namespace tritogen::report
