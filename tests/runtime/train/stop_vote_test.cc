// Processes of a job are told to stop one by one, and end after the same step, without a word beside the steps.
#include "runtime/train/stop_vote.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/data/image_batches.h"
#include "runtime/train/evaluator.h"
#include "runtime/train/predictor.h"
#include "runtime/train/trainer.h"
#include "tests/runtime/api/job/thread_job.h"
#include "tests/runtime/train/set_results_of.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kBatchRows = 7;  // on 2 replicas 4 and 3
constexpr int64_t kSamples = 70;   // 10 batches

std::shared_ptr<const BatchSource> Batches(int64_t samples, BatchMode mode) {
  ImageBatchOptions options;
  options.mode = mode;
  options.batch_rows = kBatchRows;
  options.normalization = NoNormalization(1);
  options.fields.weights = kSampleWeightName;
  auto set = std::make_shared<ImageDataset>(MakeMockDataset(samples, {12, 12, 1}, 10, 1).value());
  return ImageBatches::Create(std::move(set), options).value();
}

// One process: what it trains, its flag, and what became of it.
struct Process {
  std::unique_ptr<Session> session;
  TrainingData data;
  std::atomic<int> stop{0};
  TrainingResult result;
};

struct Grid {
  int data = 2, model = 1;
  int ranks() const { return data * model; }
};

// Runs `work` in each process of a job; returns how often they talked beside the steps.
int Everywhere(const Grid& mesh, bool counts, const std::function<void(int rank, Process& process)>& work) {
  Meeting meeting(mesh.ranks());
  std::vector<std::thread> processes;
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    processes.emplace_back([&, rank] {
      Process process;
      Model model = MakeModel("lenet5", {.batch = kBatchRows, .image_size = 12}, Ops()).value();
      model.learning_rate.base = 0.01;
      model.learning_rate.steps = 100;
      process.data = {Batches(kSamples, BatchMode::kTraining), Batches(kSamples, BatchMode::kEvaluation), ""};
      process.data.set_results = SetResultsOf(model);
      const Strategy strategy = DataModelStrategy(model.graph, mesh.data, mesh.model).value();
      const ProgramOptions options{.predictions = {"classifier/bias"}, .count_votes = counts, .verify_passes = true};
      SessionOptions session;
      session.threads_per_rank = 1;
      session.job = std::make_shared<ThreadJob>(rank, meeting);
      process.session = Session::Start(MakeProgram(model, strategy, Ops(), options).value(), session).value();
      work(rank, process);
    });
  }
  for (std::thread& process : processes) process.join();
  return meeting.rounds;
}

// Trains until `told` hears of it after its step `step`, or to the end.
int TrainUntil(const Grid& mesh, bool counts, int64_t steps, int told, int64_t step,
               std::vector<TrainingResult>& results) {
  results.assign(static_cast<size_t>(mesh.ranks()), {});
  return Everywhere(mesh, counts, [&](int rank, Process& process) {
    TrainingOptions options;
    options.epochs = 3;
    options.steps = steps;
    options.stop = &process.stop;
    int64_t done = 0;
    options.on_step = [&] {
      if (++done == step && rank == told) process.stop.store(15);
    };
    const absl::Status status = Train(*process.session, process.data, options, results[rank]);
    EXPECT_TRUE(status.ok()) << status;
  });
}

// In the middle of an epoch, before its last step and after it.
TEST(StopVote, WhoeverIsToldAllEndAfterTheSameStep) {
  for (const auto& [mesh, told] : std::vector<std::pair<Grid, int>>{{{2, 1}, 0}, {{1, 2}, 1}, {{2, 2}, 3}}) {
    for (const int64_t step : {1, 9, 10}) {
      SCOPED_TRACE(testing::Message() << mesh.data << "x" << mesh.model << ": rank " << told << ", step " << step);
      std::vector<TrainingResult> results;
      TrainUntil(mesh, /*counts=*/true, 0, told, step, results);
      for (const TrainingResult& result : results) {
        EXPECT_EQ(result.stopped_by, 15);
        EXPECT_EQ(result.steps, results[0].steps);
        // The next step runs, and the vote of the one behind it is cast, when a step is reported; between two epochs
        // there is a round for it.
        EXPECT_GE(result.steps, step);
        EXPECT_LE(result.steps, step + 3);
      }
    }
  }
}

TEST(StopVote, StepsThatCountVotesNeedNoRoundOfTheirOwn) {
  std::vector<TrainingResult> results;
  const auto rounds = [&](bool counts, int64_t steps) {
    const int talked = TrainUntil({2, 1}, counts, steps, /*told=*/-1, 0, results);
    for (const TrainingResult& result : results) EXPECT_EQ(result.steps, steps);
    return talked;
  };
  EXPECT_EQ(rounds(true, 9), rounds(true, 2));
  EXPECT_EQ(rounds(false, 9), rounds(false, 2) + 7) << "one behind each step";
}

TEST(StopVote, LossesAreThoseOfARunWithoutVotes) {
  std::vector<TrainingResult> with, without;
  TrainUntil({2, 2}, true, 10, -1, 0, with);
  TrainUntil({2, 2}, false, 10, -1, 0, without);
  EXPECT_EQ(with[0].epochs[0].loss, without[0].epochs[0].loss);
  EXPECT_EQ(with[0].epochs[0].test_loss, without[0].epochs[0].test_loss);
}

// Tells the process of it when batch 3 is made.
class TellingSource : public BatchSource {
 public:
  TellingSource(std::shared_ptr<const BatchSource> source, std::atomic<int>& stop)
      : source_(std::move(source)), stop_(stop) {}

  const std::vector<Field>& fields() const override { return source_->fields(); }
  int64_t samples() const override { return source_->samples(); }
  int64_t batch_rows() const override { return source_->batch_rows(); }
  int64_t batches_per_epoch() const override { return source_->batches_per_epoch(); }
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    if (batch == 3) stop_.store(2);
    return source_->Fill(batch, rows, out);
  }

 private:
  const std::shared_ptr<const BatchSource> source_;
  std::atomic<int>& stop_;
};

// A set is walked in step as well: nobody begins a step that others do not.
TEST(StopVote, EndsEvaluationAndPrediction) {
  enum class Told { kNever, kBefore, kMeanwhile };
  for (const Told told : {Told::kNever, Told::kBefore, Told::kMeanwhile}) {
    Everywhere({2, 1}, true, [&](int rank, Process& process) {
      if (told == Told::kBefore && rank == 1) process.stop.store(2);
      std::shared_ptr<const BatchSource> set = process.data.test;
      if (told == Told::kMeanwhile && rank == 1) set = std::make_shared<TellingSource>(set, process.stop);
      const bool whole = told == Told::kNever;
      EXPECT_EQ(EvaluateSet(*process.session, process.data.set_results, set, &process.stop)->has_value(), whole);
      if (told == Told::kMeanwhile) process.stop.store(0);
      EXPECT_EQ(PredictSet(*process.session, set, &process.stop)->has_value(), whole);
      EXPECT_EQ(*VoteToStop(*process.session, &process.stop), whole ? 0 : 2);
    });
  }
}

// Another source, of which rank 1 cannot make a batch, or finds a label in it that is no class.
class WrongSource : public BatchSource {
 public:
  enum class Wrong { kUnmade, kLabel };

  WrongSource(std::shared_ptr<const BatchSource> source, Wrong wrong, int64_t batch)
      : source_(std::move(source)), wrong_(wrong), batch_(batch) {}

  const std::vector<Field>& fields() const override { return source_->fields(); }
  int64_t samples() const override { return source_->samples(); }
  int64_t batch_rows() const override { return source_->batch_rows(); }
  int64_t batches_per_epoch() const override { return source_->batches_per_epoch(); }
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    if (batch == batch_ && wrong_ == Wrong::kUnmade) return absl::InvalidArgumentError("sample 7 is damaged");
    const absl::Status filled = source_->Fill(batch, rows, out);
    for (size_t f = 0; f < fields().size() && batch == batch_; ++f) {
      if (fields()[f].dtype == DType::kI32) *reinterpret_cast<int32_t*>(out[f].data()) = 10;
    }
    return filled;
  }

 private:
  const std::shared_ptr<const BatchSource> source_;
  const Wrong wrong_;
  const int64_t batch_;
};

// Nobody waits for a rank whose data is wrong, and all say which one it is and what it found.
TEST(WalkSet, WrongDataOfARankEndsAllWithItsSentence) {
  using enum WrongSource::Wrong;
  for (const bool counts : {true, false}) {
    for (const auto& [wrong, sentence] :
         {std::pair(kUnmade, "rank 1: sample 7 is damaged"), std::pair(kLabel, "label 10, allowed are 0 to 9")}) {
      for (const int64_t batch : {0, 1, 4, 9}) {
        SCOPED_TRACE(testing::Message() << "votes " << counts << ", batch " << batch << ": " << sentence);
        std::array<absl::Status, 2> evaluated, predicted;
        Everywhere({2, 1}, counts, [&, wrong = wrong](int rank, Process& process) {
          std::shared_ptr<const BatchSource> set = process.data.test;
          if (rank == 1) set = std::make_shared<WrongSource>(set, wrong, batch);
          evaluated[rank] = EvaluateSet(*process.session, process.data.set_results, set, &process.stop).status();
          predicted[rank] = PredictSet(*process.session, set, &process.stop).status();
          // The session is as good as before.
          EXPECT_TRUE(
              EvaluateSet(*process.session, process.data.set_results, process.data.test, &process.stop)->has_value());
        });
        for (const absl::Status& status : evaluated) {
          EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
          EXPECT_EQ(status.message(), evaluated[0].message());
        }
        EXPECT_NE(std::string(evaluated[0].message()).find("rank 1"), std::string::npos) << evaluated[0];
        EXPECT_NE(std::string(evaluated[0].message()).find(sentence), std::string::npos) << evaluated[0];
        for (const absl::Status& status : predicted) {  // predictions read no labels
          EXPECT_EQ(status.ok(), wrong == kLabel) << status;
          if (wrong == kUnmade) {
            EXPECT_EQ(std::string(status.message()), sentence);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita
