#include "tools/benchmarks/chaos/save_faults.h"

#include <filesystem>
#include <map>
#include <memory>
#include <random>

#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "tools/benchmarks/chaos/failing_disk.h"
#include "tools/benchmarks/chaos/saved_session.h"

namespace partita {
namespace {

namespace fs = std::filesystem;
using Failure = FailingDisk::Failure;
using Bytes = std::map<std::string, std::string>;

constexpr int64_t kBefore = 0, kNew = 1, kAgain = 2;  // steps
constexpr uint32_t kSeeds[] = {1, 2};                 // of the states before and of the new ones
constexpr int kData = 2, kModel = 2;

class Saves {
 public:
  Saves(std::string folder, std::unique_ptr<Session> session, uint64_t seed)
      : folder_(std::move(folder)), first_(folder_ + ".first"), session_(std::move(session)), draw_(seed) {}
  Saves(const Saves&) = delete;
  Saves& operator=(const Saves&) = delete;
  ~Saves() {
    std::error_code error;
    fs::remove_all(folder_, error);
    fs::remove_all(first_, error);
  }

  // The checkpoint before, and what the new one is to hold.
  absl::Status Prepare() {
    RETURN_IF_ERROR(SetRandomly(*session_, kSeeds[0]));
    RETURN_IF_ERROR(SystemDisk().MakeFolder(folder_));
    FailingDisk disk(Failure::kFull, FailingDisk::kNever);
    RETURN_IF_ERROR(Save(kBefore, disk));
    ASSIGN_OR_RETURN(before_, Contents(StepFolder(folder_, kBefore)));
    fs::rename(folder_, first_);
    RETURN_IF_ERROR(SetRandomly(*session_, kSeeds[1]));
    BeginAnew();
    RETURN_IF_ERROR(Save(kNew, disk));
    ASSIGN_OR_RETURN(new_, Contents(StepFolder(folder_, kNew)));
    operations_ = disk.operations();
    return absl::OkStatus();
  }

  absl::Status Fail(SaveFaults& faults) {
    BeginAnew();
    const Failure failure = draw_() % 4 == 0 ? Failure::kFull : Failure::kEnd;
    FailingDisk disk(failure, static_cast<int64_t>(draw_() % static_cast<uint64_t>(operations_)));
    Save(kNew, disk).IgnoreError();  // what is left says all
    if (failure == Failure::kEnd) disk.CutPower(Losses());
    const size_t breaches = faults.breaches.size();
    RETURN_IF_ERROR(Look(faults));
    if (failure == Failure::kFull) SaveAgain(faults);
    (failure == Failure::kEnd ? faults.ended : faults.full).Add(faults.breaches.size() == breaches);
    return absl::OkStatus();
  }

 private:
  absl::Status Save(int64_t step, Disk& disk) {
    RETURN_IF_ERROR(WriteCheckpoint(*session_, {.step = step}, folder_, disk));
    return KeepNewest(disk, folder_, 1);
  }

  void SaveAgain(SaveFaults& faults) {
    FailingDisk works(Failure::kFull, FailingDisk::kNever);
    const absl::Status again = Save(kAgain, works);
    if (!again.ok()) faults.breaches.push_back("the save behind a full disk: " + again.ToString());
  }

  void BeginAnew() {
    fs::remove_all(folder_);
    fs::copy(first_, folder_, fs::copy_options::recursive);
  }

  // What is lost of all that was not synced, change by change.
  std::vector<bool> Losses() {
    std::vector<bool> lost(1 + draw_() % 8);
    for (size_t i = 0; i < lost.size(); ++i) lost[i] = draw_() % 2 == 0;
    return lost;
  }

  // As a start behind it finds the folder.
  absl::Status Look(SaveFaults& faults) {
    RETURN_IF_ERROR(RemoveHalfWritten(SystemDisk(), folder_));
    ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(SystemDisk(), folder_));
    if (steps.empty()) {
      faults.breaches.push_back("no checkpoint is left");
      return absl::OkStatus();
    }
    ++(steps.back() == kBefore ? faults.old_ones : faults.fresh);
    for (const int64_t step : steps) {
      const absl::StatusOr<Bytes> found = Contents(StepFolder(folder_, step));
      if (!found.ok()) {
        faults.breaches.push_back(found.status().ToString());
      } else if (*found != (step == kBefore ? before_ : new_)) {
        faults.breaches.push_back(fmt::format("the checkpoint of step {} holds something else", step));
      }
    }
    return absl::OkStatus();
  }

  const std::string folder_, first_;  // first_: a copy of the folder with the checkpoint before
  const std::unique_ptr<Session> session_;
  std::mt19937_64 draw_;
  Bytes before_, new_;
  int64_t operations_ = 0;  // of a save that nothing happens to
};

}  // namespace

absl::StatusOr<SaveFaults> FailSaves(const std::string& folder, int64_t count, uint64_t seed) {
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, SmallSession(kData, kModel));
  Saves saves(folder, std::move(session), seed);
  RETURN_IF_ERROR(saves.Prepare());
  SaveFaults faults;
  while (faults.count() < count) RETURN_IF_ERROR(saves.Fail(faults));
  return faults;
}

}  // namespace partita
