#include "runtime/device/span_recorder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "runtime/device/cycle_clock.h"

namespace partita {
namespace {

TEST(CycleClock, AgreesWithTheSteadyClock) {
  // The thread may lose its core between two readings, so the cycles' time lies between two of the steady clock.
  using Clock = std::chrono::steady_clock;
  SecondsPerCycle();
  const Clock::time_point before_begin = Clock::now();
  const uint64_t begin = ReadCycles();
  const Clock::time_point after_begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Clock::time_point before_end = Clock::now();
  const double cycles = static_cast<double>(ReadCycles() - begin) * SecondsPerCycle();
  const Clock::time_point after_end = Clock::now();
  EXPECT_GE(cycles, 0.95 * std::chrono::duration<double>(before_end - after_begin).count());
  EXPECT_LE(cycles, 1.05 * std::chrono::duration<double>(after_end - before_begin).count());
}

TEST(SpanRecorder, SpansAreSecondsSinceTheStart) {
  SpanRecorder recorder;
  EXPECT_TRUE(recorder.Spans().empty());
  recorder.Prepare(3);
  recorder.Start(1000);
  recorder.Begin(2, 1500);
  recorder.End(2, 4000);
  recorder.Begin(0, 990);  // another core's counter may lag
  recorder.End(0, 1000);
  const std::vector<Span> spans = recorder.Spans();
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_DOUBLE_EQ(spans[2].begin, 500 * SecondsPerCycle());
  EXPECT_DOUBLE_EQ(spans[2].end, 3000 * SecondsPerCycle());
  EXPECT_DOUBLE_EQ(spans[0].begin, -10 * SecondsPerCycle());
  EXPECT_EQ(spans[1].begin, 0);
  EXPECT_EQ(spans[1].end, 0);
  recorder.Prepare(1);
  EXPECT_EQ(recorder.Spans()[0].end, 0);
}

}  // namespace
}  // namespace partita
