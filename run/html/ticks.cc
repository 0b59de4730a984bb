#include "run/html/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace partita {

std::vector<double> Ticks(double low, double high, int most) {
  const double span = high - low;
  const double least = span / most;
  double between = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {2.0, 2.5, 2.0}) {  // 1, 2, 5, 10
    if (between >= least) break;
    between *= factor;
  }
  const auto first = std::floor(low / between + 1e-9), last = std::ceil(high / between - 1e-9);
  std::vector<double> ticks;
  for (double tick = first; tick <= last; ++tick) ticks.push_back(tick * between);
  return ticks;
}

std::vector<double> LogarithmicTicks(double low, double high) {
  const double first = std::floor(std::log10(low) + 1e-9), last = std::floor(std::log10(high) + 1e-9) + 1;
  const double between = std::ceil((last - first) / 6);
  std::vector<double> ticks;
  for (double power = first; power < last + between; power += between) {
    for (const double factor : {1, 2, 5}) {
      if (factor == 1 || last - first <= 2) ticks.push_back(factor * std::pow(10, power));
    }
  }
  // No more than it takes.
  const auto above = std::ranges::find_if(ticks, [&](double tick) { return tick >= high * (1 - 1e-9); });
  if (above != ticks.end()) ticks.erase(std::max(above, ticks.begin() + 1) + 1, ticks.end());
  while (ticks.size() > 2 && ticks[1] <= low * (1 + 1e-9)) ticks.erase(ticks.begin());
  return ticks;
}

std::string TickText(double value) { return fmt::format("{:.6g}", value); }

}  // namespace partita
