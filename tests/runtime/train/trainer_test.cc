// The training loop on made-up images: what it counts, when it ends, and that splits change nothing it reports.
#include "runtime/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "graph/ir/generated_name.h"
#include "tests/runtime/train/lenet_fixture.h"

namespace partita {
namespace {

TEST(Train, WalksEpochsAndDropsThePartialBatch) {
  Fixture fixture = Make(8, 1, 1);
  int seen = 0;
  TrainingOptions options;
  options.epochs = 2;
  options.on_epoch = [&](const EpochResult& epoch) { EXPECT_EQ(epoch.epoch, ++seen); };
  const TrainingResult result = TrainOn(fixture, options);
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(result.steps, 2 * (kTrainingSamples / 8));
  EXPECT_EQ(result.samples, result.steps * 8);
  EXPECT_EQ(result.stopped_by, 0);
  EXPECT_LT(result.epochs[1].loss, result.epochs[0].loss + 0.1);
  ASSERT_TRUE(MetricOf(result.epochs[1].test_metrics, "accuracy").has_value());
  EXPECT_GT(result.data_wait_seconds, 0);  // at least for the first batch
  EXPECT_LT(result.data_wait_seconds, result.seconds);
  EXPECT_GT(result.data_making_seconds, 0);
}

TEST(Train, WithoutATestSetNothingIsEvaluated) {
  Fixture fixture = Make(8, 1, 1);
  fixture.data.test = nullptr;
  const TrainingResult result = TrainOn(fixture, {});
  EXPECT_EQ(result.steps, kTrainingSamples / 8);
  EXPECT_FALSE(result.epochs[0].test_loss.has_value());
  EXPECT_TRUE(MetricOf(result.epochs[0].metrics, "accuracy").has_value());
}

TEST(Train, StepsEndARunWithinAnEpoch) {
  Fixture fixture = Make(8, 1, 1);
  TrainingOptions options;
  options.epochs = 3;
  options.steps = 8;
  const TrainingResult result = TrainOn(fixture, options);
  EXPECT_EQ(result.steps, 8);
  ASSERT_EQ(result.epochs.size(), 2u);
  EXPECT_EQ(result.epochs[1].steps, 2);
  EXPECT_TRUE(result.epochs[1].test_loss.has_value());
}

// That is the one which runs while the step before is reported.
TEST(Train, AStopEndsAfterTheStepInFlight) {
  Fixture fixture = Make(8, 1, 1);
  std::atomic<int> stop{0};
  TrainingOptions options;
  options.epochs = 1000;
  options.stop = &stop;
  options.progress_seconds = 0;
  options.on_progress = [&](const Progress& progress) {
    EXPECT_TRUE(MetricOf(progress.metrics, "accuracy").has_value());
    if (progress.step == 9) stop.store(2);
  };
  const TrainingResult result = TrainOn(fixture, options);
  EXPECT_NE(result.stopped_by, 0);
  EXPECT_EQ(result.steps, 10);
  EXPECT_FALSE(result.epochs.back().test_loss.has_value());
  EXPECT_TRUE(result.epochs.back().test_metrics.empty());
}

// Each step is in one report, also across epochs and evaluations.
TEST(Train, ReportsMeansEveryFewStepsAndTheRest) {
  Fixture fixture = Make(8, 1, 1);
  const int64_t per_epoch = fixture.data.training->batches_per_epoch();
  TrainingOptions options;
  options.epochs = 2;
  options.report_every = 4;
  std::vector<Progress> reports;
  options.on_report = [&](const Progress& report) { reports.push_back(report); };
  const TrainingResult result = TrainOn(fixture, options);
  ASSERT_EQ(static_cast<int64_t>(reports.size()), (result.steps + 3) / 4);
  double loss = 0;
  int64_t before = 0;
  for (const Progress& report : reports) {
    EXPECT_EQ(report.step, std::min(before + 4, result.steps));
    EXPECT_DOUBLE_EQ(report.epoch, static_cast<double>(report.step) / static_cast<double>(per_epoch));
    EXPECT_TRUE(MetricOf(report.metrics, "accuracy").has_value());
    EXPECT_GT(report.samples_per_s, 0);
    loss += report.loss * static_cast<double>(report.step - before);
    before = report.step;
  }
  const double steps = static_cast<double>(per_epoch);
  EXPECT_NEAR(loss, (result.epochs[0].loss + result.epochs[1].loss) * steps, 1e-9);
  reports.clear();
  options.report_every = 0;
  TrainOn(fixture, options);
  EXPECT_TRUE(reports.empty());
}

using StateValues = std::vector<std::pair<std::string, HostTensor>>;

StateValues StatesOf(const Session& session) {
  StateValues states;
  for (const std::string& name : session.StateNames()) states.emplace_back(name, session.ReadState(name).value());
  return states;
}

void SetStates(const StateValues& states, Session& session) {
  for (const auto& [name, value] : states) ASSERT_TRUE(session.WriteState(name, value).ok());
}

// To the bit.
TEST(Train, AnEpochThatIsGoneOnWithTellsTheMeanOfAllOfIt) {
  Fixture whole = Make(8, 2, 1), rest = Make(8, 2, 1);
  StateValues states;
  TrainingOptions onward;
  TrainingOptions options;
  options.epochs = onward.epochs = 2;
  options.pauses.next = [](int64_t step) { return step < 8 ? 8 - step : 0; };
  options.pauses.on_steps = [&](int64_t step, const LossSums& epoch) {
    EXPECT_EQ(epoch.steps, 2);
    onward.first_step = step;
    onward.first_epoch = epoch;
    states = StatesOf(*whole.session);
    return absl::OkStatus();
  };
  const EpochResult expected = TrainOn(whole, options).epochs[1];
  ASSERT_EQ(onward.first_step, 8);
  SetStates(states, *rest.session);
  const TrainingResult result = TrainOn(rest, onward);
  ASSERT_EQ(result.epochs.size(), 1u);
  EXPECT_EQ(result.epochs[0].epoch, 2);
  EXPECT_EQ(result.epochs[0].steps, 4);
  EXPECT_EQ(result.epochs[0].loss, expected.loss);
  EXPECT_EQ(result.epochs[0].metrics, expected.metrics);
  EXPECT_EQ(result.epochs[0].test_loss, expected.test_loss);
  EXPECT_EQ(result.open_epoch, LossSums());
}

TEST(Train, AnEpochThatWasStoppedBeforeItsEvaluationIsGoneOnWithByThat) {
  Fixture whole = Make(8, 1, 1), stopped = Make(8, 1, 1);
  const EpochResult expected = TrainOn(whole, {}).epochs[0];
  std::atomic<int> stop{0};
  int steps = 0;
  TrainingOptions options;
  options.stop = &stop;
  options.on_step = [&] { stop.store(++steps == 5 ? 2 : stop.load()); };  // the 6th, the epoch's last one, has begun
  const TrainingResult result = TrainOn(stopped, options);
  ASSERT_EQ(result.open_epoch.steps, 6);
  EXPECT_FALSE(result.epochs[0].test_loss.has_value());
  TrainingOptions onward;
  onward.first_step = result.steps;
  onward.first_epoch = result.open_epoch;
  const TrainingResult rest = TrainOn(stopped, onward);
  ASSERT_EQ(rest.epochs.size(), 1u);
  EXPECT_EQ(rest.epochs[0].epoch, 1);
  EXPECT_EQ(rest.steps, 0);
  EXPECT_EQ(rest.epochs[0].loss, expected.loss);
  EXPECT_EQ(rest.epochs[0].test_loss, expected.test_loss);
}

TEST(Train, SumsOfOtherMetricsAreRefused) {
  Fixture fixture = Make(8, 1, 1);
  TrainingOptions options;
  options.first_epoch = {.steps = 1, .loss = 2, .metrics = {{"something", 1}}};
  TrainingResult result;
  EXPECT_EQ(Train(*fixture.session, fixture.data, options, result).code(), absl::StatusCode::kInvalidArgument);
}

// Each when it is due, both at one step in their order.
TEST(Together, CallsBoth) {
  const auto every = [](int64_t period, std::string name, std::string& calls) {
    TrainingPauses pauses;
    pauses.next = [period](int64_t step) { return step < 12 ? period - step % period : 0; };
    pauses.on_steps = [name, &calls](int64_t step, const LossSums&) {
      calls += name + std::to_string(step) + " ";
      return absl::OkStatus();
    };
    return pauses;
  };
  std::string calls;
  const TrainingPauses both = Together(every(3, "a", calls), every(4, "b", calls));
  for (int64_t step = 0, next = both.next(step).value(); next > 0; next = both.next(step).value()) {
    step += next;
    ASSERT_TRUE(both.on_steps(step, {}).ok());
  }
  EXPECT_EQ(calls, "a3 b4 a6 b8 a9 a12 b12 ");
  EXPECT_EQ(Together({}, {}).next(0).value(), 0);
}

// Images of one batch are no numbers.
class BrokenBatch : public BatchSource {
 public:
  BrokenBatch(std::shared_ptr<const BatchSource> source, int64_t broken)
      : source_(std::move(source)), broken_(broken) {}

  const std::vector<Field>& fields() const override { return source_->fields(); }
  int64_t samples() const override { return source_->samples(); }
  int64_t batch_rows() const override { return source_->batch_rows(); }
  int64_t batches_per_epoch() const override { return source_->batches_per_epoch(); }
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    const absl::Status status = source_->Fill(batch, rows, out);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (size_t f = 0; batch == broken_ && f < out.size(); ++f) {
      if (fields()[f].dtype != DType::kF32) continue;
      for (size_t i = 0; i < out[f].size(); i += sizeof(float)) std::memcpy(out[f].data() + i, &nan, sizeof(float));
    }
    return status;
  }

 private:
  const std::shared_ptr<const BatchSource> source_;
  const int64_t broken_;
};

// As if its batch were not in the set; the iteration counts it, so that a run which goes on there is the same.
TEST(Train, AStepThatIsNotAppliedIsLeftOutWithinABudget) {
  for (const auto& [broken, data, model] : {std::tuple{3, 1, 1}, {3, 2, 2}, {0, 1, 1}, {5, 2, 1}}) {
    SCOPED_TRACE(testing::Message() << "batch " << broken << " on " << data << " x " << model);
    Fixture fixture = Make(8, data, model), good = Make(8, data, model);
    const std::shared_ptr<const BatchSource> source = fixture.data.training;
    fixture.data.training = std::make_shared<BrokenBatch>(source, broken);
    TrainingOptions options;
    options.steps = 6;
    options.skip_budget = 1;
    std::vector<int64_t> skipped;
    options.on_skip = [&](int64_t step, const absl::Status& why) {
      skipped.push_back(step);
      EXPECT_THAT(std::string(why.message()), testing::HasSubstr("the first value that is not finite is '"));
    };
    TrainingResult result;
    const absl::Status status = Train(*fixture.session, fixture.data, options, result);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(skipped, std::vector<int64_t>{broken + 1});
    EXPECT_EQ(result.steps, 6);
    EXPECT_EQ(result.skipped_steps, 1);
    EXPECT_EQ(result.samples, 5 * 8);
    TrainingOptions before, behind;
    before.steps = broken;
    if (broken > 0) TrainOn(good, before);
    HostTensor iteration = good.session->ReadState(kIterationName).value();
    const int32_t done = broken + 1;
    std::memcpy(iteration.bytes.data(), &done, sizeof(done));
    ASSERT_TRUE(good.session->WriteState(kIterationName, iteration).ok());
    behind.first_step = done;
    behind.steps = 6;
    if (done < 6) TrainOn(good, behind);
    for (const std::string& name : good.session->StateNames()) {
      EXPECT_EQ(fixture.session->ReadState(name)->bytes, good.session->ReadState(name)->bytes) << name;
    }
    fixture = Make(8, data, model);
    fixture.data.training =
        std::make_shared<BrokenBatch>(std::make_shared<BrokenBatch>(source, broken), (broken + 2) % 6);
    result = {};
    EXPECT_EQ(Train(*fixture.session, fixture.data, options, result).code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(result.skipped_steps, 1);
  }
}

// In the middle of an epoch, and as its first and last step; the states are those of the steps before.
TEST(Train, AStepThatIsNotAppliedEndsTheRunWithItsDiagnosis) {
  for (const auto& [broken, data, model] : {std::tuple{3, 1, 1}, {3, 2, 2}, {0, 1, 1}, {5, 2, 1}}) {
    SCOPED_TRACE(testing::Message() << "batch " << broken << " on " << data << " x " << model);
    Fixture fixture = Make(8, data, model), good = Make(8, data, model);
    fixture.data.training = std::make_shared<BrokenBatch>(fixture.data.training, broken);
    TrainingResult result;
    const absl::Status status = Train(*fixture.session, fixture.data, {}, result);
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
    const std::string message(status.message());
    EXPECT_THAT(message, testing::HasSubstr("step " + std::to_string(broken + 1) + ":"));
    EXPECT_THAT(message, testing::HasSubstr("the first value that is not finite is '"));
    EXPECT_EQ(result.steps, broken);
    TrainingOptions options;
    options.steps = broken;
    if (broken > 0) TrainOn(good, options);
    for (const std::string& name : good.session->StateNames()) {
      EXPECT_EQ(fixture.session->ReadState(name)->bytes, good.session->ReadState(name)->bytes) << name;
    }
  }
}

TEST(Train, SplitsReportWhatOneRankReports) {
  Fixture serial = Make(7, 1, 1);
  TrainingOptions options;
  options.steps = 5;
  const EpochResult expected = TrainOn(serial, options).epochs[0];
  for (const auto& [data, model] : {std::pair{2, 1}, {1, 2}, {2, 2}, {3, 1}}) {
    SCOPED_TRACE(testing::Message() << data << " x " << model);
    Fixture split = Make(7, data, model);
    const TrainingResult result = TrainOn(split, options);
    EXPECT_NEAR(result.epochs[0].loss, expected.loss, 1e-4);
    EXPECT_NEAR(*result.epochs[0].test_loss, *expected.test_loss, 1e-4);
    EXPECT_NEAR(*MetricOf(result.epochs[0].test_metrics, "accuracy"), *MetricOf(expected.test_metrics, "accuracy"),
                1e-6);
    for (size_t g = 0; g < result.traffic.size(); ++g) {
      const MoveBytes predicted = split.session->PredictedBytes(kTrainEntry)[g];
      EXPECT_EQ(result.traffic[g].bytes, (MoveBytes{5 * predicted.payload, 5 * predicted.wire}));
    }
  }
}

TEST(CheckTraffic, SeesAStepThatWasNotForeseen) {
  Fixture fixture = Make(8, 2, 1);
  TrainingOptions options;
  options.steps = 2;
  ASSERT_EQ(TrainOn(fixture, options).steps, 2);
  fixture.session->ResetCounters();
  EXPECT_TRUE(CheckTraffic(*fixture.session, {}).ok());
  EXPECT_EQ(CheckTraffic(*fixture.session, {{kTrainEntry, 1}}).code(), absl::StatusCode::kInternal);
}

TEST(SetScheduleLength, LeavesALengthThatTheModelHas) {
  LearningRate rate;
  SetScheduleLength(12, rate);
  EXPECT_EQ(rate.steps, 12);
  SetScheduleLength(13, rate);
  EXPECT_EQ(rate.steps, 12);
}

}  // namespace
}  // namespace partita
