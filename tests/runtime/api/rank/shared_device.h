// Ranks that share a device which the host does not reach: they are walked together, inputs and results travel with the
// step, states are stored and fetched.
#ifndef PARTITA_TESTS_RUNTIME_API_RANK_SHARED_DEVICE_H_
#define PARTITA_TESTS_RUNTIME_API_RANK_SHARED_DEVICE_H_

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/make_schedule.h"
#include "runtime/api/rank/rank_runtime.h"
#include "runtime/base/status.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {

// lenet5 in a strategy. Device and kernels outlive it.
class SharedDevice {
 public:
  // `make_world`: the world of this number of ranks, whose groups are enqueued on streams of `device`.
  SharedDevice(const std::string& strategy, bool replay, Device& device, const KernelLibrary& kernels,
               const std::function<std::unique_ptr<World>(int ranks)>& make_world)
      : device_(device), program_(SmallProgram("lenet5", strategy)), kernels_(kernels) {
    const int ranks = program_.ranks();
    world_ = make_world(ranks);
    options_.device.replay = replay;
    for (int rank = 0; rank < ranks; ++rank) {
      const ScheduleOptions options{.exchange_boxes = world_->moves_blocks()};
      train_.push_back(*MakeSchedule(program_, program_.graph(kTrainEntry), rank, kernels_, options));
      evaluate_.push_back(*MakeSchedule(program_, program_.graph(kEvaluateEntry), rank, kernels_, options));
    }
    std::vector<RankRuntime*> all;
    for (int rank = 0; rank < ranks; ++rank) {
      RankParts parts;
      parts.rank = rank;
      parts.device = &device_;
      parts.schedules = {&train_[rank], &evaluate_[rank]};
      parts.program = &program_;
      parts.kernels = &kernels_;
      parts.world = world_.get();
      ranks_.push_back(*RankRuntime::Create(std::move(parts), options_));
      all.push_back(ranks_.back().get());
    }
    const absl::Status captured = RankRuntime::Capture(all, options_);
    EXPECT_TRUE(captured.ok()) << captured;
  }

  ~SharedDevice() {
    for (auto& rank : ranks_) rank->DropExecutors();
  }

  // The loss of rank 0.
  double Step(const StepInputs& batch) {
    const absl::Status ended = TryStep(batch);
    EXPECT_TRUE(ended.ok()) << ended;
    return LastLoss();
  }

  absl::Status TryStep(const StepInputs& batch) {
    Begin(batch);
    return End();
  }

  // Behind the step that runs, if there is one.
  void Begin(const StepInputs& batch) {
    for (const auto& rank : ranks_) EXPECT_TRUE(rank->WaitUntilInputsSent(0).ok());
    Write(batch);
    int turn = 0;
    for (const auto& rank : ranks_) turn = *rank->TakeInputs(0);
    Executor& executor = ranks_[0]->executor(0);
    EXPECT_EQ(&executor, &ranks_.back()->executor(0));
    EXPECT_TRUE(executor.Start(turn).ok());
    EXPECT_EQ(executor.Start(turn).code(), absl::StatusCode::kFailedPrecondition);
    turns_.push_back(turn);
  }

  // Of the older step.
  absl::Status End() {
    ended_ = turns_.front();
    turns_.pop_front();
    return ranks_[0]->executor(0).Wait();
  }

  void Write(const StepInputs& batch) {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const Placement& input : train_[rank].inputs) {
        if (input.offset < 0) continue;
        CopyToPart((input.name == "images" ? batch.images : batch.labels).bytes.data(), ranks_[rank]->PartOf(input));
      }
    }
  }

  // Of the step that ended last.
  double LastLoss() const { return *static_cast<const float*>(ranks_[0]->Result(0, 0, ended_).data); }

  const Graph& train() const { return program_.graph(kTrainEntry); }

  // What rank 0 holds of a state.
  std::vector<char> Held(const std::string& name) {
    for (const Placement& state : train_[0].states) {
      if (state.name != name || state.offset < 0) continue;
      const absl::StatusOr<HeldTensor> held = ranks_[0]->Fetch(state);
      EXPECT_TRUE(held.ok()) << held.status();
      const char* const data = static_cast<const char*>(held->data);
      return {data, data + state.tensor.bytes()};
    }
    return {};
  }

 private:
  SessionOptions options_ = SmallOptions();
  Device& device_;
  const Program program_;
  const KernelLibrary& kernels_;
  std::unique_ptr<World> world_;
  std::vector<Schedule> train_, evaluate_;
  std::vector<std::unique_ptr<RankRuntime>> ranks_;
  std::deque<int> turns_;  // of the steps that run
  int ended_ = 0;
};

// States and losses of a few steps are those of a session on the host, bit by bit.
inline void ExpectTheBitsOfASession(const std::string& strategy, SharedDevice& shared) {
  const auto session = SmallSession("lenet5", strategy);
  const auto part = [&](const std::string& name) {
    for (const Placement& state : session->schedule(kTrainEntry, 0).states) {
      if (state.name == name) return state.tensor;
    }
    return LocalTensor{};
  };
  for (int step = 0; step <= 3; ++step) {
    for (const std::string& name : session->StateNames()) {
      const LocalTensor tensor = part(name);
      std::vector<char> expected(static_cast<size_t>(tensor.bytes()));
      CopyToPart(session->ReadState(name)->bytes.data(), {tensor, expected.data()});
      const std::vector<char> held = shared.Held(name);
      if (held.empty()) continue;
      EXPECT_EQ(held, expected) << name << " before step " << step;
    }
    const StepInputs batch = MakeBatch(4, step, DType::kF32);
    StageTraining(*session, batch);
    EXPECT_EQ(shared.Step(batch), session->Train()->loss);
  }
}

// The next step is begun while one runs, and its results do not touch those of the one before.
inline void ExpectTwoStepsInFlight(const std::string& strategy, SharedDevice& shared) {
  const auto session = SmallSession("lenet5", strategy);
  shared.Begin(MakeBatch(4, 0, DType::kF32));
  for (int step = 0; step < 5; ++step) {
    shared.Begin(MakeBatch(4, step + 1, DType::kF32));
    const absl::Status ended = shared.End();
    ASSERT_TRUE(ended.ok()) << ended;
    StageTraining(*session, MakeBatch(4, step, DType::kF32));
    EXPECT_EQ(shared.LastLoss(), session->Train()->loss) << "step " << step;
  }
  EXPECT_TRUE(shared.End().ok());
}

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_API_RANK_SHARED_DEVICE_H_
