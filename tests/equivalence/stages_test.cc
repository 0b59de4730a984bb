// Pipelines of up to 4 stages and 16 micro-batches, in every order: they go the way of one rank while launches are
// delayed, start with the warm-up of their order (docs/papers.md 5.1), reach the peak of memory that was planned, and
// come to the same bits whether the stages are threads or processes.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "runtime/admission/socket.h"
#include "runtime/api/job/process_job.h"
#include "runtime/base/status.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 16, kFeatures = 5, kClasses = 3;
constexpr int kLayers = 5;  // not equally many on each stage
constexpr int kSteps = 3;

struct Pipe {
  PipelineOrder order;
  int stages;
  int64_t micro_batches;
};
std::ostream& operator<<(std::ostream& out, const Pipe& pipe) {
  return out << Name(pipe.order) << "_" << pipe.stages << "_stages_" << pipe.micro_batches << "_micro_batches";
}

std::string LayerName(int layer) { return "dense" + std::to_string(layer); }

absl::StatusOr<Model> MakeChain() {
  GraphBuilder b(Ops());
  ValueId x = b.Input("images", DType::kF32, {kBatch, kFeatures});
  const ValueId labels = b.Input("labels", DType::kI32, {kBatch});
  for (int layer = 0; layer < kLayers; ++layer) {
    x = b.Relu(LayerName(layer) + "/relu", b.Dense(LayerName(layer), x, kFeatures + layer));
  }
  x = b.MatMul("classifier", x, kClasses);
  const ValueId loss = b.SoftmaxCrossEntropy("loss", x, labels);
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(loss, {b.Accuracy("accuracy", x, labels)}));
  model.optimizer = {"sgd", {{"momentum", 0.9}, {"weight_decay", 1e-4}}};
  model.learning_rate.base = 1e-2;
  return model;
}

Strategy StrategyOf(const Pipe& pipe) {
  Strategy strategy;
  strategy.mesh.axes = {{"stage", pipe.stages}};
  strategy.pipeline = {pipe.micro_batches, "stage", pipe.order};
  const auto put = [&](const std::string& pattern, int stage) {
    strategy.ops.push_back({pattern, {{"stage", {"at", stage, {}}}}, {}});
  };
  for (int layer = 0; layer < kLayers; ++layer) put(LayerName(layer) + "/*", layer * pipe.stages / kLayers);
  for (const char* last : {"classifier", "loss", "accuracy"}) put(last, pipe.stages - 1);
  return strategy;
}

NamedTensors BatchOf(int step) { return {SmallImages({kBatch, kFeatures}, step), SmallLabels(kBatch, kClasses, step)}; }

class Pipelines : public testing::TestWithParam<Pipe> {
 protected:
  void SetUp() override {
    absl::StatusOr<Model> model = MakeChain();
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }
  Model model_;
};

TEST_P(Pipelines, GoTheWayOfOneRankHoweverDelayed) {
  for (const uint64_t seed : {1, 2}) {
    const absl::Status status = RunSideBySide(model_, StrategyOf(GetParam()), kSteps, BatchOf, seed);
    EXPECT_TRUE(status.ok()) << status;
  }
}

// Micro-batches that a stage has begun when its first backward runs.
size_t BegunBeforeBackward(const Graph& graph, int stage) {
  std::set<int32_t> begun;
  for (const Node& node : graph.nodes()) {
    const Layout& layout = graph.layout(node.outputs[0]);
    if (node.op->move || node.micro_batch < 0 || layout[0] != AxisLayout::At(stage)) continue;
    if (node.phase == Phase::kBackward) break;
    begun.insert(node.micro_batch);
  }
  return begun.size();
}

class WarmUps : public Pipelines {};

TEST_P(WarmUps, AreThoseOfTheOrder) {
  const Pipe& pipe = GetParam();
  const absl::StatusOr<Program> program = StepOf(model_, StrategyOf(pipe));
  ASSERT_TRUE(program.ok()) << program.status();
  for (int stage = 0; stage < pipe.stages; ++stage) {
    EXPECT_EQ(BegunBeforeBackward(program->graph(kTrainEntry), stage),
              static_cast<size_t>(WarmUp(pipe.order, pipe.stages, pipe.micro_batches, stage)))
        << "stage " << stage;
  }
}

SessionOptions OptionsOf(std::optional<uint64_t> delay_seed) {
  SessionOptions options;
  options.seed = 1;
  options.threads_per_rank = 1;
  options.tests.reference_kernels = true;
  options.tests.delay_seed = delay_seed;
  return options;
}

// Of the steps, one after the other.
absl::StatusOr<std::vector<double>> Losses(Session& session) {
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    const NamedTensors batch = BatchOf(step);
    RETURN_IF_ERROR(session.StageInput(kTrainEntry, "images", batch.images));
    RETURN_IF_ERROR(session.StageInput(kTrainEntry, "labels", batch.labels));
    ASSIGN_OR_RETURN(const StepResult result, session.Train());
    losses.push_back(result.loss);
  }
  return losses;
}

TEST_P(Pipelines, ReachThePeakThatWasPlanned) {
  absl::StatusOr<Program> program = StepOf(model_, StrategyOf(GetParam()));
  ASSERT_TRUE(program.ok()) << program.status();
  const auto session = Session::Start(*std::move(program), OptionsOf(std::nullopt));
  ASSERT_TRUE(session.ok()) << session.status();
  const absl::StatusOr<std::vector<double>> losses = Losses(**session);
  ASSERT_TRUE(losses.ok()) << losses.status();
  for (int rank = 0; rank < GetParam().stages; ++rank) {
    EXPECT_EQ((*session)->UsedMemory(rank), HighestPlannedEnd(**session, kTrainEntry, rank)) << "rank " << rank;
  }
}

std::vector<Pipe> Pipes(int least) {
  std::vector<Pipe> pipes;
  for (const PipelineOrder order :
       {PipelineOrder::kGPipe, PipelineOrder::kOneForwardOneBackward, PipelineOrder::kOverlapFriendly}) {
    for (const int stages : {1, 2, 3, 4}) {
      for (const int64_t micro_batches : {1, 2, 4, 8, 16}) {
        if (stages >= least && micro_batches >= least) pipes.push_back({order, stages, micro_batches});
      }
    }
  }
  return pipes;
}

INSTANTIATE_TEST_SUITE_P(UpToFourStages, Pipelines, testing::ValuesIn(Pipes(1)), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(UpToFourStages, WarmUps, testing::ValuesIn(Pipes(2)), testing::PrintToStringParamName());

// A stage keeps what it has done forward and not yet backward: all micro-batches, or no more than stages follow.
TEST(PipelineMemory, OneForwardOneBackwardKeepsLess) {
  const absl::StatusOr<Model> model = MakeChain();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto activations = [&](PipelineOrder order) {
    absl::StatusOr<Program> program = StepOf(*model, StrategyOf({order, 4, 16}));
    EXPECT_TRUE(program.ok()) << program.status();
    const auto session = Session::Start(*std::move(program), OptionsOf(std::nullopt));
    EXPECT_TRUE(session.ok()) << session.status();
    return (*session)->PlannedMemory(0).activations;
  };
  const int64_t all = activations(PipelineOrder::kGPipe);
  const int64_t overlapped = activations(PipelineOrder::kOverlapFriendly);
  EXPECT_LT(activations(PipelineOrder::kOneForwardOneBackward), overlapped);
  EXPECT_LT(overlapped, all);
}

// Every stage a job's process, played by a thread.
std::vector<absl::StatusOr<std::vector<double>>> LossesOfProcesses(const Model& model, const Pipe& pipe) {
  Endpoint rendezvous{"127.0.0.1"};
  const Socket reserved = *ReservePort(rendezvous);
  const auto run = [&](int rank) -> absl::StatusOr<std::vector<double>> {
    ProcessJobOptions place;
    place.rank = rank;
    place.ranks = pipe.stages;
    place.port = rendezvous.port;
    place.token = "stages";
    SessionOptions options = OptionsOf(rank + 1);
    ASSIGN_OR_RETURN(options.job, ProcessJob::Start(place));
    ASSIGN_OR_RETURN(Program program, StepOf(model, StrategyOf(pipe)));
    ASSIGN_OR_RETURN(const auto session, Session::Start(std::move(program), options));
    return Losses(*session);
  };
  std::vector<absl::StatusOr<std::vector<double>>> losses(pipe.stages, absl::UnknownError("did not run"));
  std::vector<std::thread> processes;
  for (int rank = 0; rank < pipe.stages; ++rank) processes.emplace_back([&, rank] { losses[rank] = run(rank); });
  for (std::thread& process : processes) process.join();
  return losses;
}

TEST(PipelinesOfProcesses, HaveTheBitsOfThreads) {
  const absl::StatusOr<Model> model = MakeChain();
  ASSERT_TRUE(model.ok()) << model.status();
  for (const Pipe& pipe : {Pipe{PipelineOrder::kGPipe, 2, 4}, Pipe{PipelineOrder::kOneForwardOneBackward, 3, 8},
                           Pipe{PipelineOrder::kOverlapFriendly, 4, 16}}) {
    SCOPED_TRACE(testing::PrintToString(pipe));
    absl::StatusOr<Program> program = StepOf(*model, StrategyOf(pipe));
    ASSERT_TRUE(program.ok()) << program.status();
    const auto session = Session::Start(*std::move(program), OptionsOf(std::nullopt));
    ASSERT_TRUE(session.ok()) << session.status();
    const absl::StatusOr<std::vector<double>> threads = Losses(**session);
    ASSERT_TRUE(threads.ok()) << threads.status();
    const auto processes = LossesOfProcesses(*model, pipe);
    for (size_t rank = 0; rank < processes.size(); ++rank) {
      ASSERT_TRUE(processes[rank].ok()) << "rank " << rank << ": " << processes[rank].status();
      EXPECT_EQ(*processes[rank], *threads) << "rank " << rank;
    }
  }
}

}  // namespace
}  // namespace partita
