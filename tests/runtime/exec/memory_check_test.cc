#include "runtime/exec/memory_check.h"

#include <gtest/gtest.h>

#include "tests/runtime/exec/step_fixture.h"

namespace partita {
namespace {

constexpr int64_t kElements = 8;
constexpr int64_t kBytes = kElements * 8;
constexpr int64_t kGuard = 64;

// A state, an input and a result with a guard of 64 bytes behind each.
Schedule Guarded() {
  ScheduleBuilder builder(kElements);
  const ValueId s = builder.State("s", 0);
  const ValueId x = builder.Input("x", kBytes + kGuard);
  const ValueId y = builder.Kernel("sum", "y", {s, x}, 2 * (kBytes + kGuard));
  return builder.Finish({y});
}

TEST(MemoryCheck, AStepThatStaysInsideTouchesUpToThePlannedPeak) {
  const Schedule schedule = Guarded();
  BoundStep step(schedule, {}, {}, kGuard);
  MemoryCheck check({&schedule}, step.arena(), kGuard);
  check.Paint();
  EXPECT_EQ(check.HighestTouched(), kBytes);  // the state
  for (int64_t i = 0; i < kElements; ++i) step.At(kBytes + kGuard)[i] = 1;
  ASSERT_TRUE(step.Step().ok());
  EXPECT_TRUE(check.CheckGuards().ok());
  EXPECT_EQ(check.HighestTouched(), schedule.memory.total);
  EXPECT_EQ(check.highest_end(), schedule.memory.total);
}

TEST(MemoryCheck, AByteBehindATensorIsFoundAndTheTensorNamed) {
  const Schedule schedule = Guarded();
  BoundStep step(schedule, {}, {}, kGuard);
  MemoryCheck check({&schedule}, step.arena(), kGuard);
  for (const auto& [byte, tensor] : {std::pair<int64_t, std::string>{kBytes, "'s'"},
                                     {2 * kBytes + kGuard + 63, "'x'"},
                                     {schedule.memory.total, "'y'"},
                                     {schedule.memory.total + kGuard - 1, "'y'"}}) {
    check.Paint();
    EXPECT_TRUE(check.CheckGuards().ok());
    static_cast<char*>(step.arena())[byte] = 0;
    const absl::Status status = check.CheckGuards();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_NE(std::string(status.message()).find(tensor), std::string::npos) << status;
    EXPECT_EQ(check.CheckGuards(/*guard_only=*/true).ok(), byte < schedule.memory.total);
  }
}

TEST(MemoryCheck, StatesAreNotPainted) {
  const Schedule schedule = Guarded();
  BoundStep step(schedule);
  step.At(0)[7] = 42;
  MemoryCheck({&schedule}, step.arena(), 0).Paint();
  EXPECT_EQ(step.At(0)[7], 42);
}

}  // namespace
}  // namespace partita
