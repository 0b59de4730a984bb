#include "runtime/device/span_recorder.h"

#include "runtime/device/cycle_clock.h"

namespace partita {

void SpanRecorder::Prepare(int32_t tags) { stamps_.assign(tags, Stamps{}); }

std::vector<Span> SpanRecorder::Spans() const {
  const double scale = SecondsPerCycle();
  // Signed: counters of two cores may differ by a few cycles.
  const auto seconds = [&](uint64_t cycles) {
    return static_cast<double>(static_cast<int64_t>(cycles - start_)) * scale;
  };
  std::vector<Span> spans;
  spans.reserve(stamps_.size());
  for (const Stamps& stamps : stamps_) {
    spans.push_back(stamps.end == 0 ? Span{} : Span{seconds(stamps.begin), seconds(stamps.end)});
  }
  return spans;
}

}  // namespace partita
