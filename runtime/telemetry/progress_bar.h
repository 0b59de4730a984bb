// The progress of a training in one terminal line that is rewritten repeatedly.
#ifndef PARTITA_RUNTIME_TELEMETRY_PROGRESS_BAR_H_
#define PARTITA_RUNTIME_TELEMETRY_PROGRESS_BAR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/telemetry/progress.h"

namespace partita {

// Moves to the beginning of the line and clears it.
inline constexpr char kClearLine[] = "\r\x1b[K";

// "[======>        ]  42 %  step 420/1000  loss 2.301  812 samples/s  0:12 left", at most `columns` characters; the bar
// fills the space that the rest leaves. `seconds_left` below 0: not known yet, omitted.
std::string FormatProgressBar(const Progress& progress, int64_t steps, double seconds_left, size_t columns);

// "0:07", "12:34", "1:02:03"
std::string FormatDuration(double seconds);

// On standard error. Not copied; one at a time; thread-compatible.
class ProgressBar {
 public:
  // Whether standard error is a terminal that understands kClearLine. Elsewhere lines of the log report progress.
  static bool HasTerminal();

  // For a run of this number of steps.
  explicit ProgressBar(int64_t steps) : steps_(steps) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { Clear(); }

  void Show(const Progress& progress);
  // Before something else is written to the terminal.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  const int64_t steps_;
  int64_t first_step_ = -1;  // that was shown; -1: none yet
  Clock::time_point first_time_;
  bool shown_ = false;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_PROGRESS_BAR_H_
