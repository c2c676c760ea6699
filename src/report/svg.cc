#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/html.h"

namespace tritogen::report {

Axis Axis::Linear(double high) {
  TRITOGEN_CHECK(high > 0 && std::isfinite(high));
  return Axis(false, 0, high);
}

Axis Axis::Log(double low, double high) {
  TRITOGEN_CHECK(low > 0 && low <= high && std::isfinite(high));
  const double first = std::floor(std::log10(low) + 1e-9), last = std::ceil(std::log10(high) - 1e-9);
  return Axis(true, std::pow(10.0, first), std::pow(10.0, std::max(last, first + 1)));
}

double Axis::Percent(double value) const {
  const double v = std::clamp(value, low_, high_);
  return 100 * (log_ ? std::log(v / low_) / std::log(high_ / low_) : (v - low_) / (high_ - low_));
}

std::vector<Axis::Tick> Axis::Ticks(int count) const {
  std::vector<Tick> ticks;
  if (log_) {
    const int first = static_cast<int>(std::lround(std::log10(low_)));
    const int last = static_cast<int>(std::lround(std::log10(high_)));
    const int step = std::max(1, (last - first + count - 1) / count);
    for (int e = first; e <= last; e += step) ticks.push_back({Percent(std::pow(10.0, e)), PowerOfTen(e)});
    return ticks;
  }
  const double raw = high_ / count, magnitude = std::pow(10.0, std::floor(std::log10(raw)));
  const double step = magnitude * (raw > 5 * magnitude   ? 10
                                   : raw > 2 * magnitude ? 5
                                   : raw > magnitude     ? 2
                                                         : 1);
  for (double v = 0; v <= high_ * 1.0001; v += step) ticks.push_back({Percent(v), Number(v)});
  return ticks;
}

std::string SvgLine(double x1, double y1, double x2, double y2, std::string_view css_class) {
  return fmt::format("<line x1=\"{:.2f}%\" y1=\"{:.1f}\" x2=\"{:.2f}%\" y2=\"{:.1f}\" class=\"{}\"/>", x1, y1,
                     x2, y2, css_class);
}

std::string SvgRect(double x, double y, double width, double height, std::string_view css_class) {
  return fmt::format("<rect x=\"{:.2f}%\" y=\"{:.1f}\" width=\"{:.2f}%\" height=\"{:.1f}\" class=\"{}\"/>", x,
                     y, width, height, css_class);
}

std::string SvgCircle(double x, double y, double radius, std::string_view css_class, std::string_view tip) {
  const std::string open =
      fmt::format("<circle cx=\"{:.2f}%\" cy=\"{:.1f}\" r=\"{}\" class=\"{}\"", x, y, radius, css_class);
  return tip.empty() ? open + "/>" : fmt::format("{}><title>{}</title></circle>", open, Escape(tip));
}

std::string SvgText(double x, double y, std::string_view anchor, std::string_view css_class,
                    std::string_view text, double shift) {
  return fmt::format("<text x=\"{:.2f}%\" y=\"{:.1f}\" dx=\"{}\" text-anchor=\"{}\" class=\"{}\">{}</text>",
                     x, y, shift, anchor, css_class, Escape(text));
}

std::string SvgPlot(double height, std::string_view description, std::string_view elements) {
  return fmt::format(
      "<svg class=\"plot\" width=\"100%\" height=\"{0:.0f}\" role=\"img\" aria-label=\"{1}\">"
      "<svg x=\"2%\" width=\"96%\" height=\"{0:.0f}\" overflow=\"visible\">{2}</svg></svg>\n",
      height, Escape(description), elements);
}

std::string SvgGrid(const Axis& axis, double height, int count) {
  std::string out;
  for (const Axis::Tick& tick : axis.Ticks(count)) {
    out += SvgLine(tick.percent, 0, tick.percent, height, "grid");
    out += SvgText(tick.percent, height + 16, "middle", "tick", tick.label);
  }
  return out;
}

}  // namespace tritogen::report
