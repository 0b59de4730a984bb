// Draws a curve with the characters of a terminal.
#ifndef PARTITA_RUNTIME_TELEMETRY_CURVE_PLOT_H_
#define PARTITA_RUNTIME_TELEMETRY_CURVE_PLOT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace partita {

struct PlotPoint {
  double x = 0, y = 0;
};

struct CurvePlot {
  std::string name;               // ASCII, as is the name of x
  std::string x_name;             // its values are whole numbers
  std::vector<PlotPoint> points;  // x ascends; a y that is not finite is a gap
};

// kBraille: 2 x 4 dots a character, in UTF-8. kAscii: a '*' a character.
enum class PlotDots : uint8_t { kBraille, kAscii };

// Lines of exactly `columns` characters, of which there should be at least 24: name and last value, `rows` lines of the
// curve with its largest and smallest value at the left, and first and last x. All points share the plot's width, and
// values fill its height.
std::vector<std::string> DrawPlot(const CurvePlot& plot, size_t columns, size_t rows, PlotDots dots);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_CURVE_PLOT_H_
