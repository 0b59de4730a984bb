// A save may end at any of its operations, on any rank, with or without a power cut: what is then found is the
// checkpoint before or the new one, whole.
#include <gmock/gmock.h>

#include <limits>
#include <optional>
#include <thread>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/checkpoint/sharded/saved_checkpoint.h"
#include "runtime/fail_points/fail_point.h"
#include "runtime/train/sharded/load_checkpoint.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "tests/runtime/api/job/thread_job.h"
#include "tests/runtime/train/sharded/checkpoint_case.h"
#include "tools/benchmarks/chaos/failing_disk.h"
#include "tools/models/models.h"

namespace partita {
namespace {

using Failure = FailingDisk::Failure;

// What may be lost in a power cut.
const std::vector<std::vector<bool>> kLosses = {{false}, {true}, {true, false}};

Program SmallProgram() {
  Model model = MakeModel("lenet5", {.batch = 4, .image_size = 12}, Ops()).value();
  model.learning_rate.steps = 1;
  return MakeProgram(model, DataModelStrategy(model.graph, 1, 2).value(), Ops(), {}).value();
}

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

using Held = std::vector<StateBytes>;  // by process

// Two processes of a rank each, played by threads.
class CrashPoints : public CheckpointCase {
 protected:
  void SetUp() override {
    CheckpointCase::SetUp();
    OnEach([&](int process) {
      SessionOptions options;
      options.threads_per_rank = 1;
      options.job = std::make_shared<ThreadJob>(process, meeting_);
      sessions_[process] = Session::Start(SmallProgram(), options).value();
    });
  }

  template <typename Work>
  void OnEach(const Work& work) {
    std::thread other([&] { work(1); });
    work(0);
    other.join();
  }

  Held Set(uint32_t seed) {
    Held states(2);
    OnEach([&](int process) {
      EXPECT_TRUE(SetRandomly(*sessions_[process], seed).ok());
      states[process] = HeldStates(*sessions_[process]);
    });
    return states;
  }

  // `most_copied` as CheckpointInFlight has it.
  absl::Status SaveOf(int process, int64_t step, Disk& disk, int64_t most_copied) {
    ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointInFlight> checkpoint,
                     CheckpointInFlight::Begin(*sessions_[process], {.step = step}, folder_, disk, most_copied));
    for (bool there = false; !there;) {
      ASSIGN_OR_RETURN(there, checkpoint->Advance());
    }
    return absl::OkStatus();
  }

  absl::Status Save(int64_t step, Disk& disk, int64_t most_copied = 0) {
    absl::Status statuses[2];
    OnEach([&](int process) {
      statuses[process] = SaveOf(process, step, disk, most_copied);
      if (statuses[process].ok() && process == 0) statuses[0] = KeepNewest(disk, folder_, 1);
    });
    EXPECT_EQ(statuses[0].ok() || statuses[1].ok(), statuses[1].ok()) << statuses[0] << statuses[1];
    return statuses[0];
  }

  // As step 0.
  void SaveFirst() {
    ASSERT_TRUE(Save(0, SystemDisk()).ok());
    first_ = folder_ + ".first";
    std::filesystem::remove_all(first_);
    std::filesystem::copy(folder_, first_, std::filesystem::copy_options::recursive);
  }
  void BeginAnew() {
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(first_, folder_, std::filesystem::copy_options::recursive);
  }
  void TearDown() override {
    CheckpointCase::TearDown();
    std::filesystem::remove_all(first_);
  }

  // As a start after the crash finds it.
  std::optional<int64_t> Newest() {
    EXPECT_TRUE(RemoveHalfWritten(SystemDisk(), folder_).ok());
    const std::vector<int64_t> steps = CheckpointSteps(SystemDisk(), folder_).value();
    EXPECT_EQ(SystemDisk().List(folder_)->size(), steps.size());  // nothing else is left
    return steps.empty() ? std::nullopt : std::optional(steps.back());
  }

  Held Load(int64_t step) {
    Held states(2);
    const absl::StatusOr<SavedCheckpoint> saved = SavedCheckpoint::Open(StepFolder(folder_, step));
    EXPECT_TRUE(saved.ok()) << saved.status();
    if (!saved.ok()) return {};
    OnEach([&](int process) {
      EXPECT_TRUE(LoadCheckpoint(*saved, *sessions_[process]).ok());
      states[process] = HeldStates(*sessions_[process]);
    });
    return states;
  }

  std::string first_;  // a copy of the folder with it
  Meeting meeting_{2};
  std::unique_ptr<Session> sessions_[2];
};

// Written at once, or of a copy.
class CrashPointsOf : public CrashPoints, public ::testing::WithParamInterface<int64_t> {};

TEST_P(CrashPointsOf, LeaveTheOldOneOrTheNew) {
  const Held before = Set(1);
  SaveFirst();
  const Held after = Set(2);
  int old_ones = 0, new_ones = 0;
  for (int64_t fatal = 0;; ++fatal) {
    bool ended = false;
    for (const std::vector<bool>& lost : kLosses) {
      BeginAnew();
      Set(2);
      FailingDisk disk(Failure::kEnd, fatal);
      ended = !Save(1, disk, GetParam()).ok();
      disk.CutPower(lost);
      const std::optional<int64_t> newest = Newest();
      ASSERT_TRUE(newest) << "operation " << fatal;
      ++(*newest == 0 ? old_ones : new_ones);
      EXPECT_EQ(Load(*newest), *newest == 0 ? before : after) << "operation " << fatal;
    }
    if (!ended) break;
    ASSERT_LT(fatal, 1000);
  }
  EXPECT_GT(old_ones, 20);
  EXPECT_GT(new_ones, 4);
}

INSTANTIATE_TEST_SUITE_P(Copied, CrashPointsOf, ::testing::Values(0, kAll));

// The disk is full once: that save fails everywhere, leaves the one before, and the next one succeeds.
TEST_F(CrashPoints, AFullDiskLeavesTheOldOne) {
  const Held before = Set(1);
  SaveFirst();
  for (int64_t fatal = 0;; ++fatal) {
    Set(2);
    FailingDisk disk(Failure::kFull, fatal);
    const absl::Status saved = Save(1, disk);
    if (saved.ok()) break;
    EXPECT_EQ(saved.code(), absl::StatusCode::kResourceExhausted) << saved;
    const std::vector<int64_t> steps = CheckpointSteps(SystemDisk(), folder_).value();
    ASSERT_FALSE(steps.empty());
    if (steps.front() == 0) {
      EXPECT_EQ(Load(0), before);
    }
    Set(3);
    FailingDisk again(Failure::kFull, FailingDisk::kNever);
    EXPECT_TRUE(Save(2, again).ok());
    BeginAnew();
    ASSERT_LT(fatal, 1000);
  }
}

// What one process meets between two stages is an error of both, at the next one: neither takes what the other says
// next for something else.
TEST_F(CrashPoints, AProcessThatFailsBetweenTwoStagesFailsAll) {
  const Held before = Set(1);
  SaveFirst();
  int64_t step = 0;
  for (const std::string point :
       {"checkpoint.begun", "checkpoint.shards", "checkpoint.record", "checkpoint.committed"}) {
    for (const int64_t most_copied : {int64_t{0}, kAll}) {
      ++step;
      ASSERT_TRUE(ArmFailPoints(point + "=error", {}).ok());  // of the process that comes there first
      absl::Status statuses[2];
      OnEach([&](int process) { statuses[process] = SaveOf(process, step, SystemDisk(), most_copied); });
      for (const absl::Status& status : statuses) {
        EXPECT_EQ(status, absl::UnavailableError("fail point '" + point + "'")) << most_copied;
      }
      EXPECT_TRUE(Save(++step, SystemDisk(), most_copied).ok()) << point;
    }
  }
  EXPECT_EQ(Load(step), before);
}

}  // namespace
}  // namespace partita
