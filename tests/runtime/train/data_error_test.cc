// A batch that cannot be made ends training between two steps: those before it are done, on one rank and on several, in
// training and in the evaluation behind it.
#include <gtest/gtest.h>

#include "runtime/data/prefetcher.h"
#include "tests/runtime/train/lenet_fixture.h"

namespace partita {
namespace {

// The batches of another source, of which one is damaged.
class DamagedSource : public BatchSource {
 public:
  DamagedSource(std::shared_ptr<const BatchSource> whole, int64_t damaged)
      : whole_(std::move(whole)), damaged_(damaged) {}

  const std::vector<Field>& fields() const override { return whole_->fields(); }
  int64_t samples() const override { return whole_->samples(); }
  int64_t batch_rows() const override { return whole_->batch_rows(); }
  int64_t batches_per_epoch() const override { return whole_->batches_per_epoch(); }

 private:
  absl::Status FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const override {
    if (batch == damaged_) return absl::InvalidArgumentError("sample 7 is damaged");
    return whole_->Fill(batch, rows, out);
  }

  const std::shared_ptr<const BatchSource> whole_;
  const int64_t damaged_;
};

void ExpectStatesAfter(int64_t steps, int data, const Session& session) {
  Fixture whole = Make(8, data, 1);
  TrainingOptions options;
  options.steps = steps;
  options.epochs = 2;
  if (steps > 0) TrainOn(whole, options);
  for (const std::string& name : session.StateNames()) {
    EXPECT_EQ(session.ReadState(name).value().bytes, whole.session->ReadState(name).value().bytes) << name;
  }
}

TEST(DataError, EndsTrainingBehindTheStepsBeforeIt) {
  for (const int data : {1, 2}) {
    for (const int64_t damaged : {0, 1, 8}) {
      Fixture fixture = Make(8, data, 1);
      fixture.data.training = std::make_shared<DamagedSource>(fixture.data.training, damaged);
      TrainingOptions options;
      options.epochs = 2;
      TrainingResult result;
      const absl::Status status = Train(*fixture.session, fixture.data, options, result);
      EXPECT_EQ(std::string(status.message()), "sample 7 is damaged");
      EXPECT_TRUE(IsDataError(status));
      EXPECT_EQ(result.steps, damaged);
      EXPECT_EQ(result.open_epoch.steps, damaged % 6);
      ExpectStatesAfter(damaged, data, *fixture.session);
    }
  }
}

TEST(DataError, OfTheTestSetComesBehindTheEpoch) {
  Fixture fixture = Make(8, 1, 1);
  fixture.data.test = std::make_shared<DamagedSource>(fixture.data.test, 1);
  TrainingResult result;
  const absl::Status status = Train(*fixture.session, fixture.data, {}, result);
  EXPECT_TRUE(IsDataError(status)) << status;
  EXPECT_EQ(result.steps, kTrainingSamples / 8);
  ExpectStatesAfter(result.steps, 1, *fixture.session);
}

}  // namespace
}  // namespace partita
