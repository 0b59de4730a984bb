#include "graph/value/windows.h"

#include <algorithm>
#include <charconv>

#include "graph/value/interior.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }  // b > 0

// Reads a number and the sign that follows it; false if either is not there.
bool ReadNumber(const std::string& text, size_t& at, int64_t& number, char sign) {
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  at = static_cast<size_t>(end - text.data());
  if (error != std::errc()) return false;
  if (sign == '\0') return true;
  return at < text.size() && text[at++] == sign;
}

bool ReadWord(const std::string& text, size_t& at, const std::string& word) {
  if (text.compare(at, word.size(), word) != 0) return false;
  at += word.size();
  return true;
}

}  // namespace

Range Overlap(const Range& a, const Range& b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

Range SpanOf(const Windows& windows, const Range& outputs) {
  const int64_t begin = outputs.begin * windows.stride - windows.before;
  if (outputs.empty()) return {begin, begin};
  return {begin, (outputs.end - 1) * windows.stride - windows.before + windows.extent};
}

Range BlockOf(const Windows& windows, const Range& outputs, int64_t n) {
  const Range span = SpanOf(windows, outputs);
  return windows.clipped ? Overlap(span, {0, n}) : span;
}

std::vector<int64_t> OutputCuts(const Windows& windows, const std::vector<int64_t>& cuts) {
  std::vector<int64_t> outputs(cuts.size(), 0);
  for (size_t i = 1; i + 1 < cuts.size(); ++i) {
    const int64_t behind = cuts[i] + windows.before - (windows.extent - 1) / 2;
    const int64_t first = behind <= 0 ? 0 : (behind + windows.stride - 1) / windows.stride;
    outputs[i] = std::min(first, windows.count);
  }
  outputs.back() = windows.count;
  return outputs;
}

std::string ToString(const Windows& windows) {
  return fmt::format("{}x{}/{}-{}{}{}", windows.count, windows.extent, windows.stride, windows.before,
                     windows.clipped ? ",clipped" : "", windows.summed ? ",sum" : "");
}

absl::StatusOr<Windows> ParseWindows(const std::string& text) {
  Windows windows;
  size_t at = 0;
  const bool numbers = ReadNumber(text, at, windows.count, 'x') && ReadNumber(text, at, windows.extent, '/') &&
                       ReadNumber(text, at, windows.stride, '-') && ReadNumber(text, at, windows.before, '\0');
  if (numbers) {
    windows.clipped = ReadWord(text, at, ",clipped");
    windows.summed = ReadWord(text, at, ",sum");
    if (at == text.size()) return windows;
  }
  return InvalidArgument("'{}' are no windows; <count>x<extent>/<stride>-<before>[,clipped][,sum] is needed", text);
}

absl::Status CheckWindows(const Windows& windows) {
  constexpr int64_t kMost = int64_t{1} << 61;
  int64_t last = 0;
  const bool positive = windows.count >= 1 && windows.extent >= 1 && windows.stride >= 1 && windows.before >= 0;
  if (!positive || windows.extent > kMost || windows.before > kMost ||
      __builtin_mul_overflow(windows.count - 1, windows.stride, &last) || last > kMost) {
    return InvalidArgument("windows {}: counts, extents and strides from 1 on and spans below 2^61 are needed",
                           ToString(windows));
  }
  return absl::OkStatus();
}

Range InteriorOf(const Windows& windows, const Range& outputs, const Range& held, int64_t n) {
  const Range none{outputs.begin, outputs.begin};
  if (held.empty()) return none;
  Range interior = outputs;
  if (held.begin > 0) {  // the first window that begins in `held`
    interior.begin = std::max(interior.begin, -FloorDivide(-(held.begin + windows.before), windows.stride));
  }
  if (held.end < n) {  // behind the last window that ends in it
    const int64_t last = FloorDivide(held.end + windows.before - windows.extent, windows.stride);
    interior.end = std::min(interior.end, last + 1);
  }
  return interior.empty() ? none : interior;
}

}  // namespace partita
