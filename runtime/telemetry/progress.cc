#include "runtime/telemetry/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace partita {
namespace {

struct Unit {
  const char* name;
  double bytes;
};

constexpr Unit kUnits[] = {{"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}};
constexpr Unit kBytes = {"B", 1};

Unit UnitOf(int64_t bytes) {
  for (const Unit& unit : kUnits) {
    // What would be shown as 1000 or more of the next smaller unit is shown in this one.
    if (static_cast<double>(bytes) >= unit.bytes * 999.5 / 1024) return unit;
  }
  return kBytes;
}

std::string InUnit(int64_t bytes, Unit unit) {
  const double value = static_cast<double>(bytes) / unit.bytes;
  return value >= 99.95 || unit.bytes == 1 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string Memory(const Progress& progress) {
  if (progress.memory_limit == 0) return FormatBytes(progress.memory_bytes);
  const Unit unit = UnitOf(std::max(progress.memory_bytes, progress.memory_limit));
  return fmt::format("{}/{}{}", InUnit(progress.memory_bytes, unit), InUnit(progress.memory_limit, unit), unit.name);
}

// A learning rate as people write it: 1e-3, 2.5e-4, 0.01, 0.1.
std::string Rate(double rate) {
  if (rate == 0 || !std::isfinite(rate) || std::abs(rate) >= 0.00995) return fmt::format("{:.3g}", rate);
  std::string text = fmt::format("{:.2e}", rate);  // "2.50e-04"
  std::string mantissa = text.substr(0, text.find('e'));
  mantissa.erase(mantissa.find_last_not_of('0') + 1);
  if (mantissa.back() == '.') mantissa.pop_back();
  return fmt::format("{}e{}", mantissa, std::stoi(text.substr(text.find('e') + 1)));
}

}  // namespace

std::string FormatBytes(int64_t bytes) {
  const Unit unit = UnitOf(bytes);
  return InUnit(bytes, unit) + unit.name;
}

std::string FormatProgress(const Progress& progress) {
  std::string line = fmt::format("step={} epoch={:.2f} loss={:.4g}", progress.step, progress.epoch, progress.loss);
  for (const auto& [name, value] : progress.metrics) line += fmt::format(" {}={:.4g}", name, value);
  return line + fmt::format(" lr={} samples/s={:.0f} step_ms={:.1f} mem={}", Rate(progress.learning_rate),
                            progress.samples_per_s, progress.step_ms, Memory(progress));
}

}  // namespace partita
