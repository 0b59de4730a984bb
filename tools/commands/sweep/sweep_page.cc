// SweepToHtml: a page with a line for each size of replicas, over the number of devices; both axes double from mark to
// mark.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "run/html/escaped_html.h"
#include "run/html/html_page.h"
#include "tools/commands/sweep/sweep.h"

namespace partita {
namespace {

constexpr double kLeft = 80, kTop = 20, kWidth = 640, kHeight = 400;
constexpr const char* kColours[] = {"var(--line0)", "var(--line1)", "var(--line2)",
                                    "var(--line3)", "var(--line4)", "var(--dim)"};

double Doublings(double value) { return std::log2(value); }

// Where points lie: devices to the right, what they are worth upwards.
class Axes {
 public:
  explicit Axes(const Sweep& sweep) : sweep_(sweep) {
    for (const SweepPoint& point : sweep.points) {
      right_ = std::max(right_, Doublings(point.way.devices));
      if (const std::optional<double> worth = Worth(point)) {
        low_ = std::min(low_, std::floor(Doublings(*worth)));
        high_ = std::max(high_, std::ceil(Doublings(*worth)));
      }
    }
    high_ = std::max(high_, right_);
  }

  std::optional<double> Worth(const SweepPoint& point) const { return sweep_.WorthOf(point); }
  double X(double devices) const { return kLeft + kWidth * Doublings(devices) / std::max(right_, 1.0); }
  double Y(double worth) const { return kTop + kHeight * (high_ - Doublings(worth)) / std::max(high_ - low_, 1.0); }

  std::string Grid() const {
    std::string svg;
    for (double d = 0; d <= right_; ++d) {
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.0f}</text>\n", X(std::exp2(d)),
                         kTop + kHeight + 20, std::exp2(d));
    }
    for (double w = low_; w <= high_; ++w) {
      const double y = Y(std::exp2(w));
      svg += fmt::format(
          "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"axis\"/><text x=\"{3}\" y=\"{4:.1f}\" "
          "text-anchor=\"end\">{5:g}</text>\n",
          kLeft, kLeft + kWidth, y, kLeft - 8, y + 4, std::exp2(w));
    }
    const double base = sweep_.Base().way.devices;
    return svg + fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"limit\"/>\n",
                             X(base), Y(1), X(std::exp2(right_)), Y(std::exp2(right_) / base));
  }

 private:
  const Sweep& sweep_;
  double right_ = 0, low_ = 0, high_ = 0;
};

std::string Line(const Axes& axes, const std::vector<const SweepPoint*>& points, const char* colour) {
  std::string path, marks;
  for (const SweepPoint* point : points) {
    const std::optional<double> worth = axes.Worth(*point);
    if (!worth) continue;
    const double x = axes.X(point->way.devices), y = axes.Y(*worth);
    path += fmt::format("{:.1f},{:.1f} ", x, y);
    marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", x, y, colour);
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path, colour) +
         marks;
}

std::string WorthName(const Sweep& sweep) {
  return sweep.options.curve ? "Speed-up in time to the accuracy" : "Samples a second";
}

std::string AxisNames(const Sweep& sweep) {
  constexpr double kMiddle = kTop + kHeight / 2;
  return fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">devices</text>\n"
      "<text x=\"15\" y=\"{}\" text-anchor=\"middle\" transform=\"rotate(-90 15 {})\">{} over {}</text>\n",
      kLeft + kWidth / 2, kTop + kHeight + 40, kMiddle, kMiddle, WorthName(sweep), sweep.BaseName());
}

std::string Picture(const Sweep& sweep) {
  const Axes axes(sweep);
  std::string svg = axes.Grid() + AxisNames(sweep);
  std::map<int, std::vector<const SweepPoint*>> by_split;
  for (const SweepPoint& point : sweep.points) by_split[point.way.split].push_back(&point);
  size_t place = 0;
  for (const auto& [split, points] : by_split) {
    const char* const colour = kColours[place % std::size(kColours)];
    svg += Line(axes, points, colour) +
           fmt::format("<text x=\"{}\" y=\"{}\" style=\"fill:{}\">{} device{} a replica</text>\n", kLeft + kWidth + 15,
                       kTop + 15 + 20 * static_cast<double>(place), colour, split, split == 1 ? "" : "s");
    ++place;
  }
  if (sweep.tipping) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"var(--ink)\"/><text x=\"{3:.1f}\" "
        "y=\"{4}\">tipping "
        "point</text>\n",
        axes.X(*sweep.tipping), kTop, kTop + kHeight, axes.X(*sweep.tipping) + 5, kTop + kHeight - 8);
  }
  return HtmlPicture(WorthName(sweep) + " over devices", kLeft + kWidth + 160, kTop + kHeight + 50, svg);
}

}  // namespace

std::string SweepToHtml(const Sweep& sweep, const SweepTitle& title) {
  const std::string body =
      fmt::format("<h1>{} on {}</h1>\n<p>{} over {}, by devices; dashed: as many times as there are devices.</p>\n",
                  EscapedHtml(title.model), EscapedHtml(title.cluster), WorthName(sweep), sweep.BaseName()) +
      Picture(sweep) + "<pre>" + EscapedHtml(FormatSweep(sweep, title)) + "</pre>\n";
  return HtmlPage(fmt::format("{} on {}", title.model, title.cluster), "", body);
}

}  // namespace partita
