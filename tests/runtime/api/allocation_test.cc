// A step allocates nothing: neither in the executor nor in what it launches (reference kernels; oneDNN makes a few
// allocations of its own). What a session allocates for a step's result does not grow with the graph.
#include "graph/make_program.h"
#include "graph/read/model_entries.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
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

// Sequences of 6 places, and a further size of 2.
Model MakeSequences() {
  GraphBuilder b(Ops());
  const ValueId x = b.Input("x", DType::kF32, {8, 6, 5}), y = b.Input("y", DType::kI32, {8, 6});
  Model model;
  model.graph = b.Build(b.SoftmaxCrossEntropy("loss", b.Dense("layer", x, 4), y)).value();
  const ModelEntry less{"short", {{"x", {2, 5}}, {"y", {2}}}, {}, {}};
  EXPECT_TRUE(AddEntries({less}, {}, Ops(), model).ok());
  return model;
}

TEST(Allocation, StepsOfAnotherSizeMakeNoMore) {
  const Model model = MakeSequences();
  SessionOptions options = SmallOptions();
  options.tests.reference_kernels = true;
  auto program = MakeProgram(model, DataModelStrategy(model.graph, 2, 1).value(), Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  const auto session = Session::Start(*std::move(program), options).value();
  const std::vector<float> pixels(8 * 6 * 5, 0.5F);
  const std::vector<int32_t> labels(8 * 6, 1);
  int64_t staging = 0;
  const auto begin = [&](int step) {
    const bool small = step % 2 == 1;
    const int64_t before = AllocationCount();
    const std::string entry = EntryName(kTrainEntry, small ? "short" : "");
    const auto fill = [&, places = small ? 2 : 6]() -> absl::Status {
      const int64_t begun = AllocationCount();
      EXPECT_TRUE(session->StageInput(entry, "x", {DType::kF32, {8, places, 5}, pixels.data()}).ok());
      EXPECT_TRUE(session->StageInput(entry, "y", {DType::kI32, {8, places}, labels.data()}).ok());
      staging += AllocationCount() - begun;
      return absl::OkStatus();
    };
    const Session::InputFiller filler = fill;
    staging += AllocationCount() - before;
    ASSERT_TRUE(session->Begin(entry, filler).ok());
  };
  begin(0);
  int64_t in_steps = 0;
  for (int step = 1; step <= kWarmUp + kSteps; ++step) {
    staging = 0;
    const int64_t before = AllocationCount();
    begin(step);
    ASSERT_TRUE(session->Finish().ok());
    if (step > kWarmUp) in_steps += AllocationCount() - before - staging;
  }
  ASSERT_TRUE(session->Finish().ok());
  EXPECT_LE(in_steps, kSteps * kOfASession);
}

}  // namespace
}  // namespace partita
