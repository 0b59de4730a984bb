#include "runtime/telemetry/progress_curves.h"

namespace partita {
namespace {

constexpr size_t kRows = ProgressCurves::kLines - 2;
constexpr size_t kFewestColumns = 36;
constexpr char kBetween[] = "  ";

void AddThinned(PlotPoint point, std::vector<PlotPoint>& points) {
  points.push_back(point);
  if (points.size() < ProgressCurves::kMostPoints) return;
  for (size_t i = 0; i < points.size() / 2; ++i) {
    points[i] = {points[2 * i + 1].x, (points[2 * i].y + points[2 * i + 1].y) / 2};
  }
  points.resize(points.size() / 2);
}

}  // namespace

void ProgressCurves::Add(const Progress& progress) {
  const auto step = static_cast<double>(progress.step);
  AddThinned({step, progress.loss}, loss_.points);
  if (progress.metrics.empty()) return;
  metric_.name = progress.metrics[0].first;
  AddThinned({step, progress.metrics[0].second}, metric_.points);
}

std::vector<std::string> ProgressCurves::Lines(size_t columns, PlotDots dots) const {
  if (loss_.points.empty() || columns < kFewestColumns) return {};
  const size_t half = (columns - (sizeof(kBetween) - 1)) / 2;
  if (metric_.points.empty() || half < kFewestColumns) return DrawPlot(loss_, columns, kRows, dots);
  std::vector<std::string> lines = DrawPlot(loss_, half, kRows, dots);
  const std::vector<std::string> metric = DrawPlot(metric_, half, kRows, dots);
  for (size_t l = 0; l < lines.size(); ++l) lines[l] += kBetween + metric[l];
  return lines;
}

}  // namespace partita
