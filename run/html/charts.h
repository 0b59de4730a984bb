// Charts of curves and of bars, with axes, as HTML figures.
#ifndef PARTITA_RUN_HTML_CHARTS_H_
#define PARTITA_RUN_HTML_CHARTS_H_

#include <optional>
#include <string>
#include <vector>

namespace partita {

// All texts are plain text.

struct ChartPoint {
  double x = 0, y = 0;
};

struct ChartCurve {
  std::string name;
  std::vector<ChartPoint> points;  // in the order of x; those that are not finite are gaps
};

// A dashed line across the chart.
struct ChartLimit {
  std::string name;
  double value = 0;
};

struct CurveChart {
  std::string title, x_axis, y_axis;  // axes with their units
  std::vector<ChartCurve> curves;
  std::optional<ChartLimit> limit = {};
  bool is_linear = false;  // from 0 on; there is no logarithmic picture
};

// Over linear and, where there are positive values, over logarithmic y (classes `linear` and `log`, style.h). Empty
// without a finite point.
std::string DrawCurves(const CurveChart& chart);

struct BarPart {
  double value = 0;   // not negative
  std::string style;  // a class of the style sheet
  std::string name = {};
};

struct BarRow {
  std::string label, text;     // of the row; what it says of its length
  std::vector<BarPart> parts;  // one after the other
};

struct BarChart {
  std::string title, axis;  // with its unit
  std::vector<BarRow> rows;
  std::optional<ChartLimit> limit = {};
};

std::string DrawBars(const BarChart& chart);

}  // namespace partita

#endif  // PARTITA_RUN_HTML_CHARTS_H_
