#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "run/html/charts.h"
#include "run/html/escaped_html.h"
#include "run/html/html_page.h"
#include "run/html/ticks.h"

namespace partita {
namespace {

constexpr double kLeft = 4, kWidth = 410, kRight = 30, kRow = 36, kBar = 14, kAxis = 40;
constexpr size_t kLongestLabel = 34;

double LengthOf(const BarRow& row) {
  double length = 0;
  for (const BarPart& part : row.parts) length += part.value;
  return length;
}

// Up to a whole character, which takes several bytes of UTF-8.
std::string Shortened(const std::string& label) {
  if (label.size() <= kLongestLabel) return label;
  size_t end = kLongestLabel;
  while (end > 0 && (label[end] & 0xc0) == 0x80) --end;
  return label.substr(0, end) + "...";
}

}  // namespace

std::string DrawBars(const BarChart& chart) {
  double most = chart.limit ? chart.limit->value : 0;
  for (const BarRow& row : chart.rows) most = std::max(most, LengthOf(row));
  if (!std::isfinite(most) || most <= 0) return "";
  const std::vector<double> ticks = Ticks(0, most, 5);
  const double scale = kWidth / ticks.back(), bottom = kRow * static_cast<double>(chart.rows.size()) + 4;
  std::string svg;
  for (const double tick : ticks) {
    svg += fmt::format(
        "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/><text x=\"{0:.1f}\" y=\"{2}\" "
        "text-anchor=\"{3}\">{4}</text>\n",
        kLeft + scale * tick, bottom + 4, bottom + 17, tick == 0 ? "start" : "middle", TickText(tick));
  }
  for (size_t r = 0; r < chart.rows.size(); ++r) {
    const BarRow& row = chart.rows[r];
    const double y = kRow * static_cast<double>(r);
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}: {}<title>{}</title></text>\n", kLeft, y + 14,
                       EscapedHtml(Shortened(row.label)), EscapedHtml(row.text), EscapedHtml(row.label));
    double x = kLeft;
    for (const BarPart& part : row.parts) {
      svg += fmt::format(
          "<rect class=\"{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"><title>{} {}</title></rect>\n",
          part.style, x, y + 19, scale * part.value, kBar, EscapedHtml(part.name), TickText(part.value));
      x += scale * part.value;
    }
  }
  if (chart.limit) {
    svg += fmt::format("<line class=\"limit\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/>\n",
                       kLeft + scale * chart.limit->value, bottom);
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\">{}{}</text>\n", kLeft, bottom + 34, EscapedHtml(chart.axis),
                     chart.limit ? EscapedHtml("; dashed: " + chart.limit->name) : "");
  return fmt::format("<figure><figcaption>{}</figcaption>\n", EscapedHtml(chart.title)) +
         HtmlFigure(chart.title + ": " + chart.axis, kLeft + kWidth + kRight, bottom + kAxis, svg) + "</figure>\n";
}

}  // namespace partita
