#include "run/train/training_target.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "partitioner/proto_io/epoch_curve_io.h"
#include "run/train/folder_turn.h"

namespace partita {
namespace {

// A set of which only the sizes are asked for.
class Sizes : public BatchSource {
 public:
  explicit Sizes(int64_t rows) : rows_(rows) {}

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t samples() const override { return 1000; }
  int64_t batch_rows() const override { return rows_; }
  int64_t batches_per_epoch() const override { return 10; }

 private:
  absl::Status FillChecked(int64_t, Rows, const FieldBuffers&) const override { return absl::OkStatus(); }

  std::vector<Field> fields_;
  int64_t rows_;
};

// Of a run with batches of `rows` that meets its target after as many epochs.
TrainingTarget Met(const std::string& path, int64_t rows) {
  RunSpec spec;
  spec.mutable_train()->set_until_loss(0.5);
  spec.mutable_saving()->set_save_curve(path);
  Model model;
  model.name = "m";
  TrainingData data;
  data.training = data.test = std::make_shared<Sizes>(rows);
  TrainingTarget target = **TrainingTarget::Read(spec, model, data);
  Evaluation evaluation;
  evaluation.loss = 0.4;
  EXPECT_TRUE(target.Take(10 * rows, evaluation));
  return target;
}

TEST(TrainingTarget, KeepsThePointsOfRunsThatEndTogether) {
  const std::string path = ::testing::TempDir() + "/together.pbtxt";
  std::filesystem::remove(path);
  constexpr int64_t kRuns = 16;
  std::vector<TrainingTarget> targets;
  for (int64_t rows = 1; rows <= kRuns; ++rows) targets.push_back(Met(path, rows));
  std::vector<std::thread> runs;
  for (const TrainingTarget& target : targets) {
    runs.emplace_back([&target] {
      const absl::Status saved = target.SaveCurve();
      EXPECT_TRUE(saved.ok()) << saved;
    });
  }
  for (std::thread& run : runs) run.join();
  const auto curve = LoadEpochCurve(path);
  ASSERT_TRUE(curve.ok()) << curve.status();
  ASSERT_EQ(curve->points.size(), kRuns);
  for (int64_t rows = 1; rows <= kRuns; ++rows) {
    EXPECT_EQ(curve->points[rows - 1].batch, rows);
    EXPECT_EQ(curve->points[rows - 1].epochs, rows);
  }
}

TEST(FolderTurn, SaysWhoseTurnDoesNotEnd) {
  const std::string folder = ::testing::TempDir() + "/held";
  std::filesystem::create_directories(folder);
  const int held = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  const auto turn = FolderTurn::Wait(folder + "/c.pbtxt", std::chrono::milliseconds(20));
  EXPECT_TRUE(absl::IsResourceExhausted(turn.status()));
  EXPECT_THAT(std::string(turn.status().message()), ::testing::HasSubstr("/held/c.pbtxt: another process has locked"));
  close(held);
  EXPECT_TRUE(FolderTurn::Wait(folder + "/c.pbtxt", std::chrono::milliseconds(20)).ok());
}

TEST(FolderTurn, IsGrantedWhereThereIsNoFolder) {
  EXPECT_TRUE(FolderTurn::Wait(::testing::TempDir() + "/nowhere/c.pbtxt").ok());
  EXPECT_TRUE(FolderTurn::Wait("c.pbtxt").ok());
}

}  // namespace
}  // namespace partita
