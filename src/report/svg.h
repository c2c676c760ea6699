// Plots that fit any width: x in percent of the plot, y in pixels from its top, so that text keeps its size.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tritogen::report {

// From values to percent of the plot's width or height.
class Axis {
 public:
  struct Tick {
    double percent;
    std::string label;
  };
  // From 0 to at least `high`. REQUIRES: high > 0.
  static Axis Linear(double high);
  // From the power of ten below `low` to the one above `high`. REQUIRES: 0 < low <= high.
  static Axis Log(double low, double high);

  double Percent(double value) const;  // 0 to 100; values beyond an end are at that end
  double low() const { return low_; }
  double high() const { return high_; }
  // At most about `count`, at round values.
  std::vector<Tick> Ticks(int count) const;

 private:
  Axis(bool log, double low, double high) : log_(log), low_(low), high_(high) {}

  bool log_;
  double low_, high_;
};

// Elements; `css_class` says how they look (page.css). Text is escaped; `tip` is shown when pointed at.
std::string SvgLine(double x1, double y1, double x2, double y2, std::string_view css_class);
std::string SvgRect(double x, double y, double width, double height, std::string_view css_class);
std::string SvgCircle(double x, double y, double radius, std::string_view css_class,
                      std::string_view tip = "");
// `anchor`: "start", "middle" or "end"; `shift`: pixels to the right.
std::string SvgText(double x, double y, std::string_view anchor, std::string_view css_class,
                    std::string_view text, double shift = 0);
// The whole plot; `description` for those who cannot see it.
std::string SvgPlot(double height, std::string_view description, std::string_view elements);

// Vertical grid lines from the top to `height`, their labels below.
std::string SvgGrid(const Axis& axis, double height, int count);

}  // namespace tritogen::report
