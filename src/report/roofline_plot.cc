#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"
#include "report/plots.h"
#include "report/svg.h"
#include "report/verdict_view.h"

namespace tritogen::report {
namespace {

using nlohmann::json;

constexpr double kHeight = 260;

// The candidate's work and the device's limits; all positive.
struct Roof {
  double flops, bytes, peak_flops, peak_bytes;  // per call; per second
  double time, floor;                           // seconds
  double intensity() const { return flops / bytes; }
  double ridge() const { return peak_flops / peak_bytes; }
};

std::optional<Roof> RoofOf(const json& timing) {
  const Roof roof{NumberAt(timing, "/flops").value_or(0),
                  NumberAt(timing, "/bytes").value_or(0),
                  NumberAt(timing, "/peak_flops").value_or(0),
                  NumberAt(timing, "/peak_bytes_per_s").value_or(0),
                  1e-6 * NumberAt(timing, "/candidate/median_us").value_or(0),
                  1e-6 * NumberAt(timing, "/floor_us").value_or(0)};
  const double least =
      std::min({roof.flops, roof.bytes, roof.peak_flops, roof.peak_bytes, roof.time, roof.floor});
  if (least <= 0) return std::nullopt;
  return roof;
}

double Height(const Axis& axis, double value) {
  return kHeight * (1 - axis.Percent(value) / 100);
}

std::string DrawRoof(const Roof& roof, const Axis& x, const Axis& y) {
  const double start = std::max(x.low(), y.low() / roof.peak_bytes);
  const double corner_x = x.Percent(roof.ridge()), corner_y = Height(y, roof.peak_flops);
  const double start_x = x.Percent(start), start_y = Height(y, start * roof.peak_bytes);
  std::string out = SvgLine(start_x, start_y, corner_x, corner_y, "roof");
  out += SvgLine(corner_x, corner_y, 100, corner_y, "roof");
  out += SvgText(100, corner_y - 8, "end", "limit", fmt::format("{}FLOP/s", WithPrefix(roof.peak_flops)));
  out += SvgText((start_x + corner_x) / 2, (start_y + corner_y) / 2 - 8, "end", "limit",
                 fmt::format("{}B/s", WithPrefix(roof.peak_bytes)), -8);
  return out;
}

std::string DrawPoints(const Roof& roof, const Axis& x, const Axis& y) {
  const double at = x.Percent(roof.intensity());
  const double floor_y = Height(y, roof.flops / roof.floor), time_y = Height(y, roof.flops / roof.time);
  const bool right = at < 60;  // which side of the points has room for words
  auto label = [&](double height, const char* css_class, const std::string& text) {
    return SvgText(at, height, right ? "start" : "end", css_class, text, right ? 10 : -10);
  };
  const double floor_label = floor_y + 16;
  std::string out = SvgLine(at, floor_y, at, time_y, "drop");
  out += SvgCircle(at, floor_y, 5, "eager") + SvgCircle(at, time_y, 5, "candidate");
  out += label(floor_label, "name", "floor " + Microseconds(1e6 * roof.floor));
  out += label(std::max(time_y + 5, floor_label + 18), "name first",
               "candidate " + Microseconds(1e6 * roof.time));
  return out;
}

}  // namespace

std::string RooflinePlot(const json& timing) {
  const std::optional<Roof> roof = RoofOf(timing);
  if (!roof) return "";
  const double reached = roof->flops / roof->time, possible = roof->flops / roof->floor;
  const Axis x = Axis::Log(std::min(roof->intensity(), roof->ridge()) / 4,
                           std::max(roof->intensity(), roof->ridge()) * 4);
  const Axis y = Axis::Log(std::min(reached, possible) / 4, std::max(roof->peak_flops, possible) * 1.5);
  std::string elements = SvgGrid(x, kHeight, 6);
  for (const Axis::Tick& tick : y.Ticks(5)) {
    const double height = kHeight * (1 - tick.percent / 100);
    elements += SvgLine(0, height, 100, height, "grid");
    if (height > 20 && height < kHeight - 1)
      elements += SvgText(0, height - 4, "start", "tick", tick.label, 3);
  }
  elements += DrawRoof(*roof, x, y) + DrawPoints(*roof, x, y);
  return SvgPlot(kHeight + 24, "Roofline of the device with the candidate and its floor", elements) +
         "<p class=\"axis\">FLOP/s over FLOP per byte of memory traffic (both log scale)</p>\n";
}

}  // namespace tritogen::report
