// The loss and the first metric of a run as curves for a terminal.
#ifndef PARTITA_RUNTIME_TELEMETRY_PROGRESS_CURVES_H_
#define PARTITA_RUNTIME_TELEMETRY_PROGRESS_CURVES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/telemetry/curve_plot.h"
#include "runtime/telemetry/progress.h"

namespace partita {

// Takes bounded memory: at kMostPoints, two neighbours become one with the means of both.
class ProgressCurves {
 public:
  static constexpr size_t kMostPoints = 512;
  static constexpr size_t kLines = 10;  // of all Lines, if there are any

  void Add(const Progress& progress);

  // Lines of `columns` characters: both curves side by side, or the loss alone where there is no metric or too little
  // space. None: there is no point yet, or fewer columns than a curve needs.
  std::vector<std::string> Lines(size_t columns, PlotDots dots) const;

 private:
  CurvePlot loss_{"loss", "step", {}};
  CurvePlot metric_{"", "step", {}};  // without points: there is none
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_PROGRESS_CURVES_H_
