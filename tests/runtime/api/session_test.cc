#include "runtime/api/session.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "graph/make_program.h"
#include "graph/read/model_entries.h"
#include "ops/registry.h"
#include "runtime/base/memory.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

TEST(Session, InitialValuesDoNotDependOnTheSplit) {
  const auto serial = SmallSession("lenet5", "1x1");
  const auto split = SmallSession("lenet5", "mixed");
  ASSERT_EQ(serial->StateNames().size(), split->StateNames().size());
  int parameters = 0;
  for (const std::string& name : serial->StateNames()) {
    EXPECT_EQ(serial->ReadState(name)->bytes, split->ReadState(name)->bytes) << name;
    EXPECT_TRUE(*split->ReplicasEqual(name));
    parameters += serial->IsParameter(name);
  }
  EXPECT_GT(parameters, 4);
  EXPECT_LT(parameters, static_cast<int>(serial->StateNames().size()));  // there are momenta and the iteration
}

// Each rank would fit, both do not: that is said before the first takes its memory.
TEST(Session, RanksThatDoNotFitTogetherAreRefused) {
  const Case one{"mlp", "2x1", false};
  const Model small = *MakeSmallModel(one, 1e-2);
  SessionOptions options = SmallOptions();
  const auto start = [&](int64_t batch) {
    return Session::Start(*PlanOf(one, *WithBatch(small, batch, Ops()), {}), options);
  };
  const int64_t base = (*start(1024))->PlannedMemory(0).total, twice = (*start(2048))->PlannedMemory(0).total;
  const double row = static_cast<double>(twice - base) / 1024;
  const auto most = static_cast<double>(MeasureMemory().free);
  const absl::Status status = start(static_cast<int64_t>(0.7 * most / row)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("rank 1: the plan needs "));
}

TEST(Session, StatesAreWrittenToAllRanksAndReadBackWhole) {
  const auto session = SmallSession("mlp", "2x2");
  for (const std::string& name : session->StateNames()) {
    HostTensor state = *session->ReadState(name);
    for (size_t i = 0; i < state.bytes.size(); ++i) state.bytes[i] = static_cast<char>(i % 61);
    ASSERT_TRUE(session->WriteState(name, state).ok());
    EXPECT_EQ(session->ReadState(name)->bytes, state.bytes) << name;
    EXPECT_TRUE(*session->ReplicasEqual(name));
    state.shape.push_back(1);
    EXPECT_EQ(session->WriteState(name, state).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(session->ReadState("no such state").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Session, AnInputLiesInTheBlocksOfItsLayout) {
  const auto session = SmallSession("mlp", "2x1");  // 7 rows: 4 and 3
  int64_t next = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const HeldTensor part = session->InputPlacements(kTrainEntry, "images", rank)->at(0);
    ASSERT_NE(part.data, nullptr);
    EXPECT_EQ(part.tensor.box.offset[0], next);
    next += part.tensor.box.size[0];
  }
  EXPECT_EQ(next, 7);
  EXPECT_EQ(session->InputPlacements(kTrainEntry, "imges", 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session->StageInput(kTrainEntry, "images", MakeBatch(1, 0, DType::kF64).images).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Session, WhatTheProgramDoesNotHaveIsRefused) {
  const Case one{"mlp", "2x1", false};
  const Model model = *MakeSmallModel(one, 1e-2);
  const auto session = *Session::Start(OnlyEntries(*PlanOf(one, model, {}), {kEvaluateEntry}), SmallOptions());
  const std::vector<std::pair<absl::Status, std::string>> refusals = {
      {session->Train().status(), "train"},
      {session->Predict().status(), "predict"},
      {session->Observed("images").status(), "train"},
      {session->InputPlacements(kTrainEntry, "images", 0).status(), "train"},
      {session->StageInput(kTrainEntry, "images", MakeBatch(1, 0, DType::kF32).images), "train"},
  };
  for (const auto& [status, entry] : refusals) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "the program has no entry point '" + entry + "'; it has 'evaluate'");
  }
  StageEvaluation(*session, MakeBatch(1, 0, DType::kF32));
  EXPECT_TRUE(session->Evaluate().ok()) << "the session goes on";
}

TEST(Session, EvaluationLeavesTheStatesAsTheyAre) {
  const auto session = SmallSession("lenet5", "2x2");
  StageTraining(*session, MakeBatch(1, 0, DType::kF32));
  ASSERT_TRUE(session->Train().ok());
  std::vector<std::vector<char>> before;
  for (const std::string& name : session->StateNames()) before.push_back(session->ReadState(name)->bytes);
  StageEvaluation(*session, MakeBatch(1, 1, DType::kF32));
  const auto result = session->Evaluate();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(std::isfinite(result->loss));
  for (size_t s = 0; s < before.size(); ++s) {
    EXPECT_EQ(session->ReadState(session->StateNames()[s])->bytes, before[s]) << session->StateNames()[s];
  }
}

// Samples of weight 0 count neither in the sum nor in the mean: the metrics of two halves add up to the whole.
TEST(Session, SamplesOfWeightZeroDoNotCount) {
  for (const char* strategy : {"1x1", "2x2"}) {
    const auto session = SmallSession("mlp", strategy);
    const auto evaluate = [&](int from, int to) {
      StepInputs batch = MakeBatch(1, 0, DType::kF32);
      for (int i = 0; i < 7; ++i) {
        const float weight = i >= from && i < to ? 1 : 0;
        std::memcpy(batch.weights.bytes.data() + i * 4, &weight, 4);
      }
      StageEvaluation(*session, batch);
      return *session->Evaluate();
    };
    const StepResult all = evaluate(0, 7), first = evaluate(0, 3), rest = evaluate(3, 7);
    ASSERT_EQ(all.metrics.size(), 1u);
    EXPECT_EQ(all.metrics[0].first, "accuracy");
    // Either sums of the counted samples, or their means.
    const bool sums = std::abs(first.loss + rest.loss - all.loss) < 1e-4 * all.loss;
    const bool means = std::abs((3 * first.loss + 4 * rest.loss) / 7 - all.loss) < 1e-4 * all.loss;
    EXPECT_TRUE(sums || means) << first.loss << " " << rest.loss << " " << all.loss;
  }
}

TEST(Session, CountsTheBytesThatArePredicted) {
  const auto session = SmallSession("lenet5", "mixed");
  ASSERT_FALSE(session->program().groups.empty());
  for (int round = 0; round < 2; ++round) {
    session->ResetCounters();
    for (const GroupTraffic& group : session->Traffic()) EXPECT_EQ(group.bytes, MoveBytes{});
    for (int step = 0; step < 2; ++step) {
      StageTraining(*session, MakeBatch(1, step, DType::kF32));
      ASSERT_TRUE(session->Train().ok());
    }
    StageEvaluation(*session, MakeBatch(1, 2, DType::kF32));
    ASSERT_TRUE(session->Evaluate().ok());
    const std::vector<GroupTraffic> counted = session->Traffic();
    int64_t wire = 0;
    for (size_t group = 0; group < counted.size(); ++group) {
      MoveBytes predicted = session->PredictedBytes(kEvaluateEntry)[group];
      for (int step = 0; step < 2; ++step) predicted += session->PredictedBytes(kTrainEntry)[group];
      EXPECT_EQ(counted[group].bytes, predicted);
      EXPECT_GT(counted[group].calls, 0);
      wire += predicted.wire;
    }
    EXPECT_GT(wire, 0);
  }
}

TEST(Session, TheTimelineHasEveryLaunchOfTheLastStep) {
  SessionOptions options = SmallOptions();
  options.record_timeline = true;
  const auto session = SmallSession("mlp", "2x1", options);
  StageTraining(*session, MakeBatch(1, 0, DType::kF32));
  ASSERT_TRUE(session->Train().ok());
  for (int rank = 0; rank < 2; ++rank) {
    const std::vector<LaunchSpan> timeline = session->Timeline(kTrainEntry, rank);
    // All but the host's two launches.
    EXPECT_EQ(timeline.size(), session->schedule(kTrainEntry, rank).launches.size() - 2);
    for (const LaunchSpan& span : timeline) EXPECT_LE(span.begin, span.end) << span.launch->name;
  }
  EXPECT_TRUE(session->Timeline(kEvaluateEntry, 0).empty());
}

TEST(Session, TheMemoryPlannedIsTheMemoryTouched) {
  const auto session = SmallSession("mini-inception", "2x1");
  StageTraining(*session, MakeBatch(1, 0, DType::kF32));
  ASSERT_TRUE(session->Train().ok());
  StageEvaluation(*session, MakeBatch(1, 0, DType::kF32));
  ASSERT_TRUE(session->Evaluate().ok());
  for (int rank = 0; rank < 2; ++rank) {
    const MemoryUse& memory = session->PlannedMemory(rank);
    EXPECT_EQ(memory.total, memory.parameters + memory.states + memory.inputs + memory.activations + memory.workspace);
    EXPECT_GE(session->UsedMemory(rank), session->memory_check(rank).highest_end());
    EXPECT_LE(session->UsedMemory(rank), memory.total);
  }
}

TEST(Session, APlanThatDoesNotFitIsRefused) {
  SessionOptions options = SmallOptions();
  options.memory_limit = 4096;
  const auto session = Session::Start(SmallProgram("lenet5", "2x1"), options);
  EXPECT_EQ(session.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace partita
