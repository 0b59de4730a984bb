// Formats the numbers of steps so that printed columns add up.
#ifndef PARTITA_RUN_PLAN_PAGE_NUMBERS_H_
#define PARTITA_RUN_PLAN_PAGE_NUMBERS_H_

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace partita {

// "12.345": to the nanosecond.
inline std::string Microseconds(int64_t ns) { return fmt::format("{:.3f}", static_cast<double>(ns) / 1e3); }
// "+12.345", "-0.001"
inline std::string MoreMicroseconds(int64_t ns) { return fmt::format("{:+.3f}", static_cast<double>(ns) / 1e3); }

// "12.3 %"; of nothing "-".
inline std::string Percent(int64_t part, int64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_PAGE_NUMBERS_H_
