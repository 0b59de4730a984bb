// The seeded delays try dynamically what VerifySchedule proves: with all waits every seed gives the same bits, and with
// one wait removed some seed gives a wrong result. Both must be seen, or the check could not fail.
#include <gtest/gtest.h>

#include "graph/prove/verify_schedule.h"
#include "tests/runtime/exec/step_fixture.h"

namespace partita {
namespace {

constexpr int64_t kElements = 64;
constexpr int64_t kBytes = kElements * 8;
constexpr int kSteps = 20;

// Two streams that hand a vector to and fro: a, c on stream 0; b, d on stream 1.
struct PingPong {
  PingPong() : builder(kElements, 2) {
    const ValueId x = builder.Input("x", 0);
    a = builder.Kernel("add_one", "a", {x}, kBytes, 0);
    b = builder.Kernel("add_one", "b", {a}, 2 * kBytes, 1, {builder.LaunchOf(a)});
    c = builder.Kernel("sum", "c", {a, b}, 3 * kBytes, 0, {builder.LaunchOf(b)});
    d = builder.Kernel("sum", "d", {b, c}, 4 * kBytes, 1, {builder.LaunchOf(c)});
    schedule = builder.Finish({d});
    for (Launch& launch : schedule.launches) {
      if (launch.stream != schedule.host_stream() && launch.waits.empty()) launch.waits = {0};
    }
    // The host writes x and reads d.
    schedule.launches.front().accesses = {{{0, kBytes}, true}};
    schedule.launches.back().accesses = {{{4 * kBytes, kBytes}, false}};
  }
  ScheduleBuilder builder;
  ValueId a, b, c, d;
  Schedule schedule;
};

// How many of the steps are wrong under this seed.
int WrongSteps(const Schedule& schedule, uint64_t seed) {
  HostDeviceOptions device;
  device.delay.seed = seed;
  device.delay.probability = 0.5;
  BoundStep step(schedule, device);
  int wrong = 0;
  for (int i = 1; i <= kSteps; ++i) {
    for (int64_t e = 0; e < kElements; ++e) step.At(0)[e] = i;
    EXPECT_TRUE(step.Step().ok());
    const double a = i + 1, b = a + 1, c = a + b, d = b + c;
    wrong += step.At(4 * kBytes)[0] != d;
  }
  return wrong;
}

TEST(Delays, AllWaitsGiveTheSameBitsUnderEverySeed) {
  const PingPong graph;
  ASSERT_TRUE(VerifySchedule(graph.schedule).ok()) << VerifySchedule(graph.schedule);
  for (uint64_t seed = 0; seed < 8; ++seed) EXPECT_EQ(WrongSteps(graph.schedule, seed), 0) << "seed " << seed;
}

// Not under the thread sanitizer, which would stop at the race that this test is about.
#ifndef __SANITIZE_THREAD__
TEST(Delays, AMissingWaitShowsAsAWrongResult) {
  const PingPong graph;
  for (const ValueId value : {graph.b, graph.c, graph.d}) {
    Schedule schedule = graph.schedule;
    schedule.launches[graph.builder.LaunchOf(value)].waits.clear();
    EXPECT_FALSE(VerifySchedule(schedule).ok());
    int wrong = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) wrong += WrongSteps(schedule, seed);
    EXPECT_GT(wrong, 0) << "without the wait of value " << value;
  }
}
#endif

}  // namespace
}  // namespace partita
