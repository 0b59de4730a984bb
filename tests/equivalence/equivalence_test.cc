// Every case of the table equals the single rank: in f64 over 20 free-running steps, in f32 step by step, and with the
// same bits however the launches are delayed. In all of these runs the bytes counted are the bytes predicted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "graph/ir/generated_name.h"
#include "graph/ir/group_key.h"
#include "graph/moves/plan_exchange.h"
#include "runtime/api/verify_plan.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/near_tie.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int kSteps = 20;
constexpr int kMostLeftOut = 4;
constexpr int64_t kGuardBytes = 64;

// The regularized half of the table computes convolutions in parts, wherever there are ghosts to wait for.
SessionOptions Options(const Case& one, uint64_t seed) {
  SessionOptions options;
  options.overlap_halo = one.regularized ? OverlapHalo::kOn : OverlapHalo::kOff;
  options.seed = seed;
  options.threads_per_rank = 1;
  return options;
}

ProgramOptions Floating(DType dtype, bool fuse) {
  ProgramOptions options;
  options.floating = dtype;
  options.fuse = fuse;
  options.verify_passes = true;
  return options;
}

// Counted since the last ResetCounters, over so many training steps.
void ExpectPredictedBytes(const Session& session, int64_t steps) {
  const std::vector<GroupTraffic> counted = session.Traffic();
  const std::vector<MoveBytes> predicted = session.PredictedBytes(kTrainEntry);
  ASSERT_EQ(counted.size(), predicted.size());
  for (size_t group = 0; group < counted.size(); ++group) {
    const std::string name = ToString(session.program().groups[group], session.program().meshes);
    EXPECT_EQ(counted[group].bytes.payload, predicted[group].payload * steps) << "payload of " << name;
    EXPECT_EQ(counted[group].bytes.wire, predicted[group].wire * steps) << "wire of " << name;
  }
}

absl::Status Stage(Session& session, const StepInputs& batch) {
  RETURN_IF_ERROR(session.StageInput(kTrainEntry, "images", batch.images));
  return session.StageInput(kTrainEntry, "labels", batch.labels);
}

absl::Status Stage(PlanVerifier& verifier, const StepInputs& batch) {
  RETURN_IF_ERROR(verifier.StageInput("images", batch.images));
  return verifier.StageInput("labels", batch.labels);
}

// Launches that compute a part of a convolution, on all ranks.
int PartsOfConvolutions(const Session& session) {
  int count = 0;
  for (int rank = 0; rank < session.ranks(); ++rank) {
    for (const Launch& launch : session.schedule(kTrainEntry, rank).launches) {
      const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
      count += kernel != nullptr && !kernel->node.within.empty();
    }
  }
  return count;
}

class Equivalence : public testing::TestWithParam<Case> {};

// Forward, gradients and parameters within 1e-10, every value apart, dead bytes poisoned.
// Exchanges of a training step that are made in a mode other than the direct one.
int64_t ExchangesInMode(const Session& session, const std::string& mode) {
  const std::vector<Node>& nodes = session.graph(kTrainEntry).nodes();
  return std::ranges::count_if(
      nodes, [&](const Node& node) { return IsExchange(*node.op) && node.attributes.String("mode") == mode; });
}

TEST_P(Equivalence, DoublePrecisionRunsAlike) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSmallModel(one, 1e-2));
  ASSERT_OK_AND_ASSIGN(Program serial, SerialProgram(model, Floating(DType::kF64, false)));
  ASSERT_OK_AND_ASSIGN(Program plan, PlanOf(one, model, Floating(DType::kF64, false)));
  VerifyPlanOptions options;
  options.session = Options(one, 1);
  options.session.tests.poison = true;
  options.tolerance = 1e-10;
  options.floor = 1e-6;
  options.same_beginning = false;
  ASSERT_OK_AND_ASSIGN(const auto verifier, PlanVerifier::Start(std::move(serial), std::move(plan), options));
  EXPECT_FALSE(verifier->gradients().empty());
  const bool rows_or_columns = one.strategy.find_first_of("hw") == 0 || one.strategy == "d2h2";
  if (rows_or_columns && one.strategy != "h8") {  // of which nothing is interior
    EXPECT_EQ(PartsOfConvolutions(verifier->plan()) > 0, one.regularized);
  }
  if (const std::string mode = one.strategy.substr(one.strategy.find('_') + 1); FindExchangeMode(mode)) {
    EXPECT_GT(ExchangesInMode(verifier->plan(), mode), 0);
  }
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(Stage(*verifier, MakeBatch(1, step, DType::kF64, BatchOf(one))).ok());
    ASSERT_OK_AND_ASSIGN(const StepComparison comparison, verifier->Step());
    const TensorDifference* const first = comparison.First();
    ASSERT_EQ(first, nullptr) << "step " << step << ": " << ToString(*first);
  }
  ExpectPredictedBytes(verifier->plan(), kSteps);
}

// The serial f32 run, the plan from its states step by step, and the judge: the serial run in f64 from the same states.
struct SinglePrecision {
  std::unique_ptr<PlanVerifier> verifier;
  std::unique_ptr<Session> judge;
};

absl::StatusOr<SinglePrecision> StartSinglePrecision(const Case& one, const Model& model, uint64_t seed) {
  ASSIGN_OR_RETURN(Program serial, SerialProgram(model, Floating(DType::kF32, true)));
  ASSIGN_OR_RETURN(Program plan, PlanOf(one, model, Floating(DType::kF32, true)));
  ASSIGN_OR_RETURN(Program judge, SerialProgram(model, Floating(DType::kF64, false)));
  VerifyPlanOptions options;
  options.session = Options(one, seed);
  options.session.tests.guard_bytes = kGuardBytes;
  options.session.tests.reuse_memory = false;  // a guard behind every tensor
  SinglePrecision runs;
  ASSIGN_OR_RETURN(runs.verifier, PlanVerifier::Start(std::move(serial), std::move(plan), options));
  SessionOptions observing = Options(one, seed);
  observing.tests.observe = true;
  ASSIGN_OR_RETURN(runs.judge, Session::Start(std::move(judge), observing));
  return runs;
}

HostTensor InDoublePrecision(const HostTensor& tensor) {
  if (tensor.dtype != DType::kF32) return tensor;
  const std::vector<double> elements = ToDoubles(tensor);
  const char* const bytes = reinterpret_cast<const char*>(elements.data());
  return {DType::kF64, tensor.shape, std::vector<char>(bytes, bytes + elements.size() * sizeof(double))};
}

// Whether the step that the serial run is about to make is left out of the comparison.
absl::StatusOr<bool> LeaveOut(SinglePrecision& runs, uint64_t seed, int step, int64_t samples) {
  for (const std::string& name : runs.judge->StateNames()) {
    ASSIGN_OR_RETURN(const HostTensor state, runs.verifier->serial().ReadState(name));
    RETURN_IF_ERROR(runs.judge->WriteState(name, InDoublePrecision(state)));
  }
  RETURN_IF_ERROR(Stage(*runs.judge, MakeBatch(seed, step, DType::kF64, samples)));
  RETURN_IF_ERROR(runs.judge->Train().status());
  ASSIGN_OR_RETURN(const std::string tie, FindNearTie(*runs.judge));
  return !tie.empty();
}

// Runs the 20 steps of one seed; `losses` are the serial ones.
void RunSinglePrecision(const Case& one, const Model& model, uint64_t seed, std::vector<double>& losses,
                        int& left_out) {
  ASSERT_OK_AND_ASSIGN(SinglePrecision runs, StartSinglePrecision(one, model, seed));
  losses.clear();
  left_out = 0;
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_OK_AND_ASSIGN(const bool leave_out, LeaveOut(runs, seed, step, BatchOf(one)));
    ASSERT_TRUE(Stage(*runs.verifier, MakeBatch(seed, step, DType::kF32, BatchOf(one))).ok());
    ASSERT_OK_AND_ASSIGN(const StepComparison comparison, runs.verifier->Step());
    losses.push_back(comparison.serial_loss);
    left_out += leave_out;
    const TensorDifference* const first = comparison.First();
    if (leave_out) continue;
    ASSERT_EQ(first, nullptr) << "seed " << seed << " step " << step << ": " << ToString(*first);
  }
  ExpectPredictedBytes(runs.verifier->plan(), kSteps);
  for (int rank = 0; rank < runs.verifier->plan().ranks(); ++rank) {
    EXPECT_TRUE(runs.verifier->plan().memory_check(rank).CheckGuards().ok());
  }
}

TEST_P(Equivalence, SinglePrecisionStepsAlike) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSmallModel(one, 1e-3));
  std::vector<double> losses;
  uint64_t seed = 0;
  int left_out = kSteps;
  while (left_out > kMostLeftOut) {
    ASSERT_LT(++seed, 10u) << "no seed with at most " << kMostLeftOut << " steps left out";
    RunSinglePrecision(one, model, seed, losses, left_out);
    if (HasFatalFailure()) return;
  }
  std::cout << one.Name() << ": seed " << seed << ", " << left_out << " of " << kSteps
            << " steps are too near to a kink and left out\n";
  // The plan on its own, as it is trained: shared memory, two compute streams.
  ASSERT_OK_AND_ASSIGN(Program plan, PlanOf(one, model, Floating(DType::kF32, true)));
  SessionOptions options = Options(one, seed);
  options.compute_streams = 2;
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Start(std::move(plan), options));
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(Stage(*session, MakeBatch(seed, step, DType::kF32, BatchOf(one))).ok());
    ASSERT_OK_AND_ASSIGN(const StepResult result, session->Train());
    EXPECT_NEAR(result.loss, losses[step], 1e-2 * std::abs(losses[step])) << "step " << step;
  }
  ExpectPredictedBytes(*session, kSteps);
}

// The bits of every value on every rank, of all states and of the loss, over 3 steps.
uint64_t HashOf(uint64_t hash, const void* data, size_t bytes) {
  const auto* const byte = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ byte[i]) * 0x100000001B3;
  return hash;
}

absl::StatusOr<std::vector<uint64_t>> BitsOfRun(const Case& one, const Model& model, int compute_streams,
                                                std::optional<uint64_t> delay_seed) {
  ASSIGN_OR_RETURN(Program plan, PlanOf(one, model, Floating(DType::kF32, true)));
  SessionOptions options = Options(one, 5);
  options.tests.delay_seed = delay_seed;
  options.compute_streams = compute_streams;
  options.tests.observe = true;
  ASSIGN_OR_RETURN(const auto session, Session::Start(std::move(plan), options));
  const Graph& graph = session->graph(kTrainEntry);
  std::vector<uint64_t> bits;
  for (int step = 0; step < 3; ++step) {
    RETURN_IF_ERROR(Stage(*session, MakeBatch(5, step, DType::kF32, BatchOf(one))));
    RETURN_IF_ERROR(session->Train().status());
    for (ValueId value = 0; value < static_cast<ValueId>(graph.values().size()); ++value) {
      uint64_t hash = 0xCBF29CE484222325;
      for (int rank = 0; rank < session->ranks(); ++rank) {
        const HeldTensor part = session->ObservedPart(value, rank);
        if (part.data != nullptr) hash = HashOf(hash, part.data, static_cast<size_t>(part.tensor.bytes()));
      }
      bits.push_back(hash);
      ASSIGN_OR_RETURN(const WholeValue whole, session->Observed(graph.value(value).name));
      if (!whole.replicas_equal) return Internal("ranks hold different bits of '{}'", graph.value(value).name);
    }
  }
  for (const std::string& name : session->StateNames()) {
    ASSIGN_OR_RETURN(const HostTensor state, session->ReadState(name));
    ASSIGN_OR_RETURN(const bool equal, session->ReplicasEqual(name));
    if (!equal) return Internal("ranks hold different bits of state '{}'", name);
    bits.push_back(HashOf(0xCBF29CE484222325, state.bytes.data(), state.bytes.size()));
  }
  ExpectPredictedBytes(*session, 3);
  return bits;
}

TEST_P(Equivalence, TheBitsAreTheSameInEveryRunAndOnAnyNumberOfStreams) {
  const Case& one = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, MakeSmallModel(one, 1e-2));
  ASSERT_OK_AND_ASSIGN(const std::vector<uint64_t> first, BitsOfRun(one, model, 2, std::nullopt));
  ASSERT_OK_AND_ASSIGN(const std::vector<uint64_t> on_one_stream, BitsOfRun(one, model, 1, std::nullopt));
  EXPECT_EQ(first, on_one_stream);
  for (uint64_t delay_seed : {1, 2, 3}) {
    const int compute_streams = delay_seed == 3 ? 4 : 2;
    ASSERT_OK_AND_ASSIGN(const std::vector<uint64_t> delayed, BitsOfRun(one, model, compute_streams, delay_seed));
    EXPECT_EQ(first, delayed) << "delayed by seed " << delay_seed << ", " << compute_streams << " streams";
  }
}

// Two training steps and an evaluation without observers. The arena is as large as the larger entry point wants it.
absl::StatusOr<std::unique_ptr<Session>> RunBothEntries(const Case& one, bool reference_kernels) {
  ASSIGN_OR_RETURN(const Model model, MakeSmallModel(one, 1e-2));
  ASSIGN_OR_RETURN(Program plan, PlanOf(one, model, Floating(DType::kF32, true)));
  SessionOptions options = Options(one, 3);
  options.tests.reference_kernels = reference_kernels;
  ASSIGN_OR_RETURN(auto session, Session::Start(std::move(plan), options));
  for (int step = 0; step < 2; ++step) {
    RETURN_IF_ERROR(Stage(*session, MakeBatch(3, step, DType::kF32, BatchOf(one))));
    RETURN_IF_ERROR(session->Train().status());
  }
  const StepInputs batch = MakeBatch(3, 2, DType::kF32, BatchOf(one));
  RETURN_IF_ERROR(session->StageInput(kEvaluateEntry, "images", batch.images));
  RETURN_IF_ERROR(session->StageInput(kEvaluateEntry, "labels", batch.labels));
  RETURN_IF_ERROR(session->StageInput(kEvaluateEntry, kSampleWeightName, batch.weights));
  RETURN_IF_ERROR(session->Evaluate().status());
  return session;
}

int64_t HighestPlannedEnd(const Session& session, int rank) {
  return std::max(HighestPlannedEnd(session, kTrainEntry, rank), HighestPlannedEnd(session, kEvaluateEntry, rank));
}

// Nothing is written behind the planned peak, and the peak is reached: to the byte by the reference kernels, which use
// all of their workspace.
TEST_P(Equivalence, TheHighestByteTouchedIsThePlannedPeak) {
  ASSERT_OK_AND_ASSIGN(const auto session, RunBothEntries(GetParam(), /*reference_kernels=*/true));
  for (int rank = 0; rank < session->ranks(); ++rank) {
    EXPECT_EQ(session->UsedMemory(rank), HighestPlannedEnd(*session, rank)) << "rank " << rank;
    EXPECT_LE(session->UsedMemory(rank), session->PlannedMemory(rank).total) << "rank " << rank;
    EXPECT_TRUE(session->memory_check(rank).CheckGuards().ok());
  }
}

// oneDNN asks for workspace as an upper bound. Only of a workspace may the end stay untouched, never of a value.
TEST_P(Equivalence, FastKernelsStayInThePlanAndReachEveryValue) {
  ASSERT_OK_AND_ASSIGN(const auto session, RunBothEntries(GetParam(), /*reference_kernels=*/false));
  for (int rank = 0; rank < session->ranks(); ++rank) {
    EXPECT_LE(session->UsedMemory(rank), HighestPlannedEnd(*session, rank)) << "rank " << rank;
    EXPECT_GE(session->UsedMemory(rank), session->memory_check(rank).highest_end()) << "rank " << rank;
    EXPECT_TRUE(session->memory_check(rank).CheckGuards().ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Equivalence, testing::ValuesIn(AllCases()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.Name(); });

}  // namespace
}  // namespace partita
