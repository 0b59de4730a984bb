#include "runtime/device/span_recorder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "runtime/device/cycle_clock.h"

namespace partita {
namespace {

TEST(CycleClock, AgreesWithTheSteadyClock) {
  using Clock = std::chrono::steady_clock;
  SecondsPerCycle();
  const Clock::time_point begin = Clock::now();
  const uint64_t begin_cycles = ReadCycles();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double cycles = static_cast<double>(ReadCycles() - begin_cycles) * SecondsPerCycle();
  const double steady = std::chrono::duration<double>(Clock::now() - begin).count();
  EXPECT_NEAR(cycles / steady, 1, 0.05);
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
