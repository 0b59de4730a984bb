#include "runtime/exec/executor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/exec/step_fixture.h"

namespace partita {
namespace {

constexpr int64_t kElements = 8;
constexpr int64_t kBytes = kElements * 8;

// state s at 0, input x at 64; a = x + 1, b = s + a, s' = s + b in the place of s.
struct Accumulate {
  Accumulate() : builder(kElements) {
    s = builder.State("s", 0);
    x = builder.Input("x", kBytes);
    a = builder.Kernel("add_one", "a", {x}, 2 * kBytes);
    b = builder.Kernel("sum", "b", {s, a}, 3 * kBytes);
    next = builder.Kernel("sum", "s_new", {s, b}, 0);
    schedule = builder.Finish({b});
  }
  ScheduleBuilder builder;
  ValueId s, x, a, b, next;
  Schedule schedule;
};

TEST(Executor, ReplaysTheStepOverItsStates) {
  const Accumulate graph;
  BoundStep step(graph.schedule);
  double expected = 0;
  for (int i = 0; i < 5; ++i) {
    for (int64_t e = 0; e < kElements; ++e) step.At(kBytes)[e] = i;
    ASSERT_TRUE(step.Step().ok());
    expected += expected + i + 1;
    EXPECT_EQ(step.At(0)[kElements - 1], expected);
  }
}

TEST(Executor, AStepMustBeWaitedFor) {
  const Accumulate graph;
  BoundStep step(graph.schedule);
  ASSERT_TRUE(step.executor().Start().ok());
  EXPECT_EQ(step.executor().Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(step.executor().Wait().ok());
}

TEST(Executor, AFailedLaunchIsTheStepsError) {
  ScheduleBuilder builder(kElements);
  const ValueId x = builder.Input("x", 0);
  const ValueId y = builder.Kernel("fail", "y", {x}, kBytes);
  builder.Kernel("add_one", "z", {y}, 2 * kBytes);
  BoundStep step(builder.Finish());
  step.At(2 * kBytes)[0] = 7;
  EXPECT_EQ(step.Step().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(step.At(2 * kBytes)[0], 7);  // what comes behind did not run
}

TEST(Executor, RefusesTooFewStreams) {
  ScheduleBuilder builder(kElements, /*streams=*/2);
  builder.Kernel("add_one", "y", {builder.Input("x", 0)}, kBytes, /*stream=*/1);
  const Schedule schedule = builder.Finish();
  HostDevice device;
  const VectorKernels kernels;
  const auto arena = *device.Allocate(schedule.memory.total);
  const auto stream = *device.CreateStream("only");
  ExecutorBinding binding;
  binding.device = &device;
  binding.streams = {stream.get()};
  binding.arena = arena->data();
  binding.kernels = &kernels;
  EXPECT_EQ(Executor::Create(schedule, binding).status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(stream->Synchronize().ok());  // it is not left in a capture
}

TEST(Executor, RefusesACollectiveWithoutCommunicator) {
  Schedule schedule;
  Launch launch;
  launch.name = "sum@all_reduce";
  launch.work = CollectiveLaunch{};
  schedule.launches.push_back(launch);
  schedule.memory.total = 64;
  HostDevice device;
  const VectorKernels kernels;
  const auto arena = *device.Allocate(64);
  const auto stream = *device.CreateStream("only");
  ExecutorBinding binding;
  binding.device = &device;
  binding.streams = {stream.get()};
  binding.arena = arena->data();
  binding.kernels = &kernels;
  const absl::Status status = Executor::Create(schedule, binding).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(std::string(status.message()).find("sum@all_reduce"), std::string::npos);
  EXPECT_TRUE(stream->Synchronize().ok());
}

// An observer sees a value as it was right after its launch, though its bytes become another's later.
TEST(Executor, ObservesValuesWhoseBytesAreReused) {
  ScheduleBuilder builder(kElements);
  const ValueId s = builder.State("s", 0);
  const ValueId x = builder.Input("x", kBytes);
  const ValueId a = builder.Kernel("add_one", "a", {x}, 2 * kBytes);
  const ValueId b = builder.Kernel("add_one", "b", {a}, kBytes);      // in the place of x
  const ValueId c = builder.Kernel("add_one", "c", {b}, 2 * kBytes);  // in the place of a
  const ValueId next = builder.Kernel("sum", "s_new", {s, c}, 0);     // in the place of s
  ExecutorOptions options;
  options.observe = {s, x, a, b, c, next};
  BoundStep step(builder.Finish(), {}, options);
  step.At(0)[3] = 100;
  step.At(kBytes)[3] = 1;
  ASSERT_TRUE(step.Step().ok());
  const auto seen = [&](ValueId value) { return static_cast<const double*>(step.executor().Observed(value))[3]; };
  EXPECT_EQ(seen(s), 100);
  EXPECT_EQ(seen(x), 1);
  EXPECT_EQ(seen(a), 2);
  EXPECT_EQ(seen(b), 3);
  EXPECT_EQ(seen(c), 4);
  EXPECT_EQ(seen(next), 104);
  EXPECT_EQ(step.executor().Observed(next + 1), nullptr);
}

TEST(Executor, NamesTheFirstValueThatIsNotFinite) {
  ScheduleBuilder builder(kElements);
  const ValueId x = builder.Input("x", 0);
  const ValueId a = builder.Kernel("add_one", "a", {x}, kBytes);
  const ValueId b = builder.Kernel("divide", "b", {a}, 2 * kBytes);
  builder.Kernel("add_one", "c", {b}, kBytes);
  ExecutorOptions options;
  options.check_finite = true;
  BoundStep step(builder.Finish(), {}, options);
  ASSERT_TRUE(step.Step().ok());
  EXPECT_EQ(step.executor().FirstNonFinite(), kNoValue);
  step.At(0)[5] = -1;
  ASSERT_TRUE(step.Step().ok());
  EXPECT_EQ(step.executor().FirstNonFinite(), b);
  step.At(0)[5] = NAN;
  ASSERT_TRUE(step.Step().ok());
  EXPECT_EQ(step.executor().FirstNonFinite(), x);
}

// A launch that reads a value after its life has ended sees poison; the same schedule without poison does not show it.
TEST(Executor, PoisonShowsAReaderThatComesTooLate) {
  ScheduleBuilder builder(kElements);
  const ValueId x = builder.Input("x", 0);
  const ValueId a = builder.Kernel("add_one", "a", {x}, kBytes);
  const ValueId b = builder.Kernel("add_one", "b", {a}, 2 * kBytes);
  const ValueId c = builder.Kernel("sum", "c", {a, b}, 3 * kBytes);
  Schedule schedule = builder.Finish({c});
  for (const bool early : {false, true}) {
    if (early) schedule.lifetimes[a].last = builder.LaunchOf(b);  // c still reads it
    for (const bool poison : {false, true}) {
      ExecutorOptions options;
      options.poison = poison;
      BoundStep step(schedule, {}, options);
      ASSERT_TRUE(step.Step().ok());
      if (early && poison) {
        EXPECT_TRUE(std::isnan(step.At(3 * kBytes)[0]));
      } else {
        EXPECT_EQ(step.At(3 * kBytes)[0], 3);
      }
    }
  }
}

TEST(Executor, RecordsASpanPerLaunch) {
  const Accumulate graph;
  BoundStep step(graph.schedule);
  step.executor().SetRecording(true);
  ASSERT_TRUE(step.Step().ok());
  const std::vector<Span> spans = step.executor().Spans();
  ASSERT_EQ(spans.size(), graph.schedule.launches.size());
  EXPECT_EQ(spans.front().end, 0);  // the first and the last are the host's
  EXPECT_EQ(spans.back().end, 0);
  for (size_t l = 1; l + 1 < spans.size(); ++l) {
    EXPECT_LE(spans[l].begin, spans[l].end);
    EXPECT_GE(spans[l].begin, spans[l - 1].end);
  }
}

}  // namespace
}  // namespace partita
