// A step allocates nothing: neither in the executor nor in what it launches (reference kernels; oneDNN makes a few
// allocations of its own). What a session allocates for a step's result does not grow with the graph.
#include "tests/runtime/api/session_fixture.h"
#include "tools/benchmarks/allocation_count.h"
#include "tools/benchmarks/executor_benchmark.h"

namespace partita {
namespace {

constexpr int kWarmUp = 4;
constexpr int kSteps = 10;

// Of one training step: names and values of the metrics, and the list of executors.
constexpr int64_t kOfASession = 12;

TEST(Allocation, TheExecutorMakesNoneInAStep) {
  ExecutorBenchmarkOptions options;
  options.nodes = {1000, 10000};
  options.rounds = 3;
  options.allocations = AllocationCount;
  const auto rows = BenchmarkExecutor(options);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->size(), ExecutorShapes().size() * 2 * 2 * 2);
  for (const ExecutorRow& row : *rows) {
    EXPECT_EQ(row.allocations_per_step, 0) << row.shape << " " << row.nodes << " nodes, " << row.streams << " streams";
    EXPECT_GT(row.ns_per_node, 0);
  }
}

TEST(Allocation, ATrainingStepMakesNoneForItsLaunches) {
  SessionOptions options = SmallOptions();
  options.tests.reference_kernels = true;
  options.record_timeline = true;
  const auto session = SmallSession("mini-inception", "2x2", options);
  const StepInputs batch = MakeBatch(1, 0, DType::kF32);
  int64_t in_steps = 0;
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    StageTraining(*session, batch);
    const int64_t before = AllocationCount();
    ASSERT_TRUE(session->Train().ok());
    if (step >= kWarmUp) in_steps += AllocationCount() - before;
  }
  EXPECT_GT(session->schedule(kTrainEntry, 0).launches.size(), 100u);
  EXPECT_LE(in_steps, kSteps * kOfASession);
}

// What `fill` needs is its own.
TEST(Allocation, AStepInFlightMakesNoMore) {
  SessionOptions options = SmallOptions();
  options.tests.reference_kernels = true;
  const auto session = SmallSession("mini-inception", "2x2", options);
  const StepInputs batch = MakeBatch(1, 0, DType::kF32);
  int64_t staging = 0;
  const Session::InputFiller fill = [&]() -> absl::Status {
    const int64_t before = AllocationCount();
    StageTraining(*session, batch);
    staging += AllocationCount() - before;
    return absl::OkStatus();
  };
  ASSERT_TRUE(session->Begin(kTrainEntry, fill).ok());
  int64_t in_steps = 0;
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    staging = 0;
    const int64_t before = AllocationCount();
    ASSERT_TRUE(session->Begin(kTrainEntry, fill).ok());
    ASSERT_TRUE(session->Finish().ok());
    if (step >= kWarmUp) in_steps += AllocationCount() - before - staging;
  }
  ASSERT_TRUE(session->Finish().ok());
  EXPECT_LE(in_steps, kSteps * kOfASession);
}

}  // namespace
}  // namespace partita
