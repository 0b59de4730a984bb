// The progress of a training on a terminal: a line that is rewritten repeatedly, with curves below it on request.
#ifndef PARTITA_RUNTIME_TELEMETRY_PROGRESS_BAR_H_
#define PARTITA_RUNTIME_TELEMETRY_PROGRESS_BAR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/telemetry/progress.h"
#include "runtime/telemetry/progress_curves.h"

namespace partita {

// Moves to the beginning of the line and clears it, and what is below it.
inline constexpr char kClearBelow[] = "\r\x1b[J";

// "[======>        ]  42 %  step 420/1000  loss 2.301  812 samples/s  0:12 left", at most `columns` characters; the bar
// fills the space that the rest leaves. `seconds_left` below 0: not known yet, omitted.
std::string FormatProgressBar(const Progress& progress, int64_t steps, double seconds_left, size_t columns);

// What draws the bar and lines below it over those that were there. The cursor returns to the beginning of the bar: a
// line that something else writes there takes its place, and the next drawing follows that line. `anew`: clears first
// what another size of the terminal may have moved.
std::string ProgressBlock(const std::string& bar, const std::vector<std::string>& below, bool anew);

// "0:07", "12:34", "1:02:03"
std::string FormatDuration(double seconds);

// On standard error. Not copied; one at a time; thread-compatible.
class ProgressBar {
 public:
  // Whether standard error is a terminal that understands kClearBelow. Elsewhere lines of the log report progress.
  static bool HasTerminal();

  // For a run of this number of steps. `has_curves`: with those of ProgressCurves below it, where the terminal is large
  // enough.
  explicit ProgressBar(int64_t steps, bool has_curves = false) : steps_(steps), has_curves_(has_curves) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { Clear(); }

  void Show(const Progress& progress);
  // Before something else is written to the terminal.
  void Clear();
  // At the end: clears the bar; the curves stay.
  void Finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Size {
    size_t columns = 80, rows = 24;
    bool operator==(const Size&) const = default;
  };

  static Size TerminalSize();
  std::vector<std::string> CurveLines(const Size& size) const;

  const int64_t steps_;
  const bool has_curves_;
  ProgressCurves curves_;
  Size size_;                // when it was shown last
  int64_t first_step_ = -1;  // that was shown; -1: none yet
  Clock::time_point first_time_;
  bool shown_ = false;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_PROGRESS_BAR_H_
