#include "runtime/telemetry/progress_bar.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace partita {
namespace {

// As the locale's variables say.
PlotDots DotsOfTerminal() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    const bool is_utf8 = locale.ends_with("UTF-8") || locale.ends_with("utf8") || locale.ends_with("utf-8");
    return is_utf8 ? PlotDots::kBraille : PlotDots::kAscii;
  }
  return PlotDots::kAscii;
}

// A terminal that is gone is no reason to end a training.
void WriteToTerminal(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    if (count <= 0) return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace

std::string FormatDuration(double seconds) {
  const auto whole = static_cast<int64_t>(std::clamp(seconds, 0.0, 1e9) + 0.5);
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours == 0) return fmt::format("{}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
}

std::string FormatProgressBar(const Progress& progress, int64_t steps, double seconds_left, size_t columns) {
  constexpr size_t kShortest = 5, kLongest = 30, kFrame = 4;  // "[", ">", "]" and a space
  const double share =
      steps > 0 ? std::clamp(static_cast<double>(progress.step) / static_cast<double>(steps), 0.0, 1.0) : 0;
  std::string text = fmt::format(" {:3.0f} %  step {}/{}  loss {:.4g}  {:.0f} samples/s", 100 * share, progress.step,
                                 steps, progress.loss, progress.samples_per_s);
  if (seconds_left >= 0) text += fmt::format("  {} left", FormatDuration(seconds_left));
  if (text.size() + kShortest + kFrame > columns) return text.substr(1, columns);
  const size_t length = std::min(kLongest, columns - text.size() - kFrame);
  const auto done = static_cast<size_t>(share * static_cast<double>(length));
  return fmt::format("[{}>{}] {}", std::string(done, '='), std::string(length - done, ' '), text.substr(1));
}

std::string ProgressBlock(const std::string& bar, const std::vector<std::string>& below, bool anew) {
  if (below.empty()) return kClearBelow + bar;
  constexpr char kClearRest[] = "\x1b[K";
  std::string text = anew ? kClearBelow : "\r";
  text += bar + kClearRest;
  for (const std::string& line : below) text += "\r\n" + line + kClearRest;
  return text + fmt::format("\x1b[{}A\r", below.size());
}

ProgressBar::Size ProgressBar::TerminalSize() {
  Size size;
  winsize known{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &known) != 0) return size;
  if (known.ws_col > 0) size.columns = known.ws_col;
  if (known.ws_row > 0) size.rows = known.ws_row;
  return size;
}

// None that would scroll the bar away.
std::vector<std::string> ProgressBar::CurveLines(const Size& size) const {
  if (!has_curves_ || size.rows < ProgressCurves::kLines + 2) return {};
  return curves_.Lines(size.columns - 1, DotsOfTerminal());
}

bool ProgressBar::HasTerminal() {
  const char* const kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

void ProgressBar::Show(const Progress& progress) {
  const Clock::time_point now = Clock::now();
  if (first_step_ < 0) {
    first_step_ = progress.step;
    first_time_ = now;
  }
  const auto since = static_cast<double>(progress.step - first_step_);
  const double seconds = std::chrono::duration<double>(now - first_time_).count();
  const double left = since > 0 ? seconds / since * static_cast<double>(steps_ - progress.step) : -1;
  if (has_curves_) curves_.Add(progress);
  const Size size = TerminalSize();
  const std::string bar = FormatProgressBar(progress, steps_, left, size.columns - 1);
  WriteToTerminal(ProgressBlock(bar, CurveLines(size), !(size == size_)));
  size_ = size;
  shown_ = true;
}

void ProgressBar::Clear() {
  if (shown_) WriteToTerminal(kClearBelow);
  shown_ = false;
}

void ProgressBar::Finish() {
  Clear();
  std::string text;
  for (const std::string& line : CurveLines(TerminalSize())) text += line + "\r\n";
  WriteToTerminal(text);
}

}  // namespace partita
