#include "runtime/telemetry/curve_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace partita {
namespace {

constexpr size_t kLabel = 9;  // "-1.23e-05"

std::string Padded(std::string text, size_t columns) {
  text.resize(columns, ' ');
  return text;
}

// Places of dots, each set or not, in characters of several dots.
class DotCanvas {
 public:
  DotCanvas(size_t columns, size_t rows, PlotDots dots)
      : columns_(columns), rows_(rows), dots_(dots), bits_(columns * rows) {}

  int64_t width() const { return static_cast<int64_t>(columns_) * across(); }
  int64_t height() const { return static_cast<int64_t>(rows_) * down(); }

  // x from the left, y from the top.
  void Set(int64_t x, int64_t y) {
    // Unicode numbers the dots 1 2 3 7 of the left side and 4 5 6 8 of the right one.
    constexpr uint8_t kBits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    bits_[static_cast<size_t>(y / down()) * columns_ + static_cast<size_t>(x / across())] |=
        kBits[x % across()][y % down()];
  }

  std::string Row(size_t row) const {
    std::string text;
    for (size_t c = 0; c < columns_; ++c) text += Character(bits_[row * columns_ + c]);
    return text;
  }

 private:
  int64_t across() const { return dots_ == PlotDots::kBraille ? 2 : 1; }
  int64_t down() const { return dots_ == PlotDots::kBraille ? 4 : 1; }

  // U+2800 and the bits, in UTF-8.
  std::string Character(uint8_t bits) const {
    if (bits == 0) return " ";
    if (dots_ == PlotDots::kAscii) return "*";
    return {'\xe2', static_cast<char>(0xa0 | bits >> 6), static_cast<char>(0x80 | (bits & 0x3f))};
  }

  const size_t columns_, rows_;
  const PlotDots dots_;
  std::vector<uint8_t> bits_;
};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  // From 0 to 1. The middle if all values are one.
  double ShareOf(double value) const { return low == high ? 0.5 : (value - low) / (high - low); }
};

Range ValuesOf(const CurvePlot& plot) {
  Range range;
  for (const PlotPoint& point : plot.points) {
    if (std::isfinite(point.y)) range.Add(point.y);
  }
  return range;
}

// Each point is joined to the one before it.
void DrawPoints(const CurvePlot& plot, const Range& values, DotCanvas& canvas) {
  const Range places{plot.points.front().x, plot.points.back().x};
  const auto dot = [](double share, int64_t dots) { return std::llround(share * static_cast<double>(dots - 1)); };
  bool joins = false;
  int64_t from_x = 0, from_y = 0;
  for (const PlotPoint& point : plot.points) {
    if (!std::isfinite(point.y)) {
      joins = false;
      continue;
    }
    const int64_t x = dot(places.ShareOf(point.x), canvas.width());
    const int64_t y = dot(1 - values.ShareOf(point.y), canvas.height());
    if (!joins) std::tie(from_x, from_y) = std::pair(x, y);
    const int64_t dots = std::max({std::abs(x - from_x), std::abs(y - from_y), int64_t{1}});
    for (int64_t d = 0; d <= dots; ++d) {
      const double share = static_cast<double>(d) / static_cast<double>(dots);
      canvas.Set(from_x + std::llround(share * static_cast<double>(x - from_x)),
                 from_y + std::llround(share * static_cast<double>(y - from_y)));
    }
    std::tie(from_x, from_y) = std::pair(x, y);
    joins = true;
  }
}

std::string Label(size_t row, size_t rows, const Range& values) {
  if (values.empty() || (row != 0 && row + 1 != rows)) return std::string(kLabel, ' ');
  return fmt::format("{:>9.3g}", row == 0 ? values.high : values.low);
}

std::string LastLine(const CurvePlot& plot, size_t columns) {
  const std::string first =
      fmt::format("{}{} {:.0f}", std::string(kLabel + 1, ' '), plot.x_name, plot.points.front().x);
  const std::string last = fmt::format(" {:.0f}", plot.points.back().x);
  return Padded(first, columns > last.size() ? columns - last.size() : 0) + last;
}

}  // namespace

std::vector<std::string> DrawPlot(const CurvePlot& plot, size_t columns, size_t rows, PlotDots dots) {
  const Range values = ValuesOf(plot);
  std::string title = std::string(kLabel + 1, ' ') + plot.name;
  if (!plot.points.empty()) title += fmt::format(" {:.4g}", plot.points.back().y);
  std::vector<std::string> lines = {Padded(std::move(title), columns)};
  DotCanvas canvas(columns - kLabel - 1, rows, dots);
  if (!values.empty()) DrawPoints(plot, values, canvas);
  for (size_t row = 0; row < rows; ++row) lines.push_back(Label(row, rows, values) + "|" + canvas.Row(row));
  lines.push_back(plot.points.empty() ? std::string(columns, ' ') : LastLine(plot, columns));
  return lines;
}

}  // namespace partita
