#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "run/html/charts.h"
#include "run/html/escaped_html.h"
#include "run/html/html_page.h"
#include "run/html/ticks.h"

namespace partita {
namespace {

constexpr double kLeft = 62, kTop = 26, kWidth = 360, kHeight = 190, kRight = 22, kBelow = 36;
constexpr size_t kStyles = 4;
constexpr size_t kFewPoints = 40;  // that are also drawn as dots

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  // Around one value too.
  void Widen() {
    if (low < high) return;
    const double more = low == 0 ? 1 : 0.1 * std::abs(low);
    low -= more;
    high += more;
  }
};

class Axes {
 public:
  Axes(const CurveChart& chart, bool logarithmic) : chart_(chart), logarithmic_(logarithmic) {
    Range x, y;
    for (const ChartCurve& curve : chart.curves) {
      for (const ChartPoint& point : curve.points) {
        if (!Shows(point)) continue;
        x.Add(point.x);
        y.Add(point.y);
      }
    }
    if (y.empty()) return;
    if (chart.limit && (!logarithmic || chart.limit->value > 0)) y.Add(chart.limit->value);
    if (!logarithmic && y.low > 0 && (chart.is_linear || y.low < 0.5 * y.high)) y.low = 0;
    x.Widen();
    if (!logarithmic) y.Widen();
    x_ticks_ = Ticks(x.low, x.high, 5);
    // A curve may begin and end between two marks.
    std::erase_if(x_ticks_, [&](double tick) { return tick < x.low - 1e-9 || tick > x.high * (1 + 1e-9); });
    y_ticks_ = logarithmic ? LogarithmicTicks(y.low, y.high) : Ticks(y.low, y.high, 5);
    x_ = x;
  }

  bool empty() const { return y_ticks_.empty(); }
  bool Shows(const ChartPoint& point) const { return std::isfinite(point.y) && (!logarithmic_ || point.y > 0); }

  double X(double x) const { return kLeft + kWidth * (x - x_.low) / (x_.high - x_.low); }
  double Y(double y) const {
    const double low = Scaled(y_ticks_.front()), high = Scaled(y_ticks_.back());
    return kTop + kHeight * (1 - (Scaled(y) - low) / (high - low));
  }

  std::string Draw() const {
    std::string svg;
    for (const double tick : y_ticks_) {
      svg += fmt::format(
          "<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
          "text-anchor=\"end\">{5}</text>\n",
          kLeft, kLeft + kWidth, Y(tick), kLeft - 6, Y(tick) + 4, TickText(tick));
    }
    for (const double tick : x_ticks_) {
      svg += fmt::format(
          "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text x=\"{0:.1f}\" y=\"{3}\" "
          "text-anchor=\"middle\">{4}</text>\n",
          X(tick), kTop + kHeight, kTop + kHeight + 5, kTop + kHeight + 17, TickText(tick));
    }
    return svg +
           fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text><text x=\"2\" y=\"11\">{}{}</text>\n",
                       kLeft + kWidth / 2, kTop + kHeight + 32, EscapedHtml(chart_.x_axis), EscapedHtml(chart_.y_axis),
                       logarithmic_ ? " (logarithmic)" : "");
  }

 private:
  double Scaled(double y) const { return logarithmic_ ? std::log10(y) : y; }

  const CurveChart& chart_;
  const bool logarithmic_;
  Range x_;
  std::vector<double> x_ticks_, y_ticks_;
};

std::string DrawCurve(const Axes& axes, const ChartCurve& curve, size_t style) {
  std::string svg, stretch;
  size_t shown = 0;
  const auto end = [&] {
    if (!stretch.empty()) svg += fmt::format("<polyline class=\"line line{}\" points=\"{}\"/>\n", style, stretch);
    stretch.clear();
  };
  for (const ChartPoint& point : curve.points) {
    if (!axes.Shows(point)) {
      end();
      continue;
    }
    stretch += fmt::format("{:.1f},{:.1f} ", axes.X(point.x), axes.Y(point.y));
    ++shown;
  }
  end();
  if (shown > kFewPoints) return svg;
  for (const ChartPoint& point : curve.points) {
    if (!axes.Shows(point)) continue;
    svg += fmt::format(
        "<circle class=\"point{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"><title>{}: {} {}</title></circle>\n", style,
        axes.X(point.x), axes.Y(point.y), TickText(point.x), EscapedHtml(curve.name), TickText(point.y));
  }
  return svg;
}

std::string Swatch(const std::string& style) {
  return fmt::format(
      "<svg viewBox=\"0 0 22 10\" aria-hidden=\"true\"><line class=\"{}\" x1=\"0\" x2=\"22\" y1=\"5\" "
      "y2=\"5\"/></svg> ",
      style);
}

// The curves with their last values.
std::string LegendOf(const CurveChart& chart) {
  std::string text;
  for (size_t c = 0; c < chart.curves.size(); ++c) {
    const ChartCurve& curve = chart.curves[c];
    if (curve.points.empty()) continue;
    text += fmt::format("{}{} {} &#160; ", Swatch(fmt::format("line line{}", c % kStyles)), EscapedHtml(curve.name),
                        TickText(curve.points.back().y));
  }
  if (chart.limit) {
    text += fmt::format("{}{} {}", Swatch("limit"), EscapedHtml(chart.limit->name), TickText(chart.limit->value));
  }
  return "<p class=\"legend\">" + text + "</p>\n";
}

std::string DrawPicture(const CurveChart& chart, const Axes& axes) {
  std::string svg = axes.Draw();
  if (chart.limit) {
    svg += fmt::format("<line class=\"limit\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n", kLeft,
                       kLeft + kWidth, axes.Y(chart.limit->value));
  }
  for (size_t c = 0; c < chart.curves.size(); ++c) svg += DrawCurve(axes, chart.curves[c], c % kStyles);
  const std::string label = fmt::format("{}: {} over {}", chart.title, chart.y_axis, chart.x_axis);
  return HtmlFigure(label, kLeft + kWidth + kRight, kTop + kHeight + kBelow, svg);
}

}  // namespace

std::string DrawCurves(const CurveChart& chart) {
  const Axes linear(chart, /*logarithmic=*/false), logarithmic(chart, /*logarithmic=*/true);
  if (linear.empty()) return "";
  std::string text = fmt::format("<figure><figcaption>{}</figcaption>\n", EscapedHtml(chart.title)) + LegendOf(chart);
  const bool has_both = !chart.is_linear && !logarithmic.empty() && (!chart.limit || chart.limit->value > 0);
  if (!has_both) return text + DrawPicture(chart, linear) + "</figure>\n";
  return text + "<div class=\"linear\">" + DrawPicture(chart, linear) + "</div>\n<div class=\"log\">" +
         DrawPicture(chart, logarithmic) + "</div>\n</figure>\n";
}

}  // namespace partita
