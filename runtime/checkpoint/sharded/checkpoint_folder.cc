#include "runtime/checkpoint/sharded/checkpoint_folder.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/record.h"

namespace partita {
namespace {

constexpr char kStep[] = "step-";
constexpr char kWriting[] = "writing-";
constexpr char kDamaged[] = "damaged-";

// The number behind `prefix`, as it is written there.
std::optional<int64_t> NumberOf(std::string_view name, std::string_view prefix) {
  int64_t number = 0;
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || name != fmt::format("{:012}", number)) return std::nullopt;
  return number;
}

absl::StatusOr<bool> HasRecord(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, disk.List(folder));
  return std::ranges::find(names, kRecordFile) != names.end();
}

}  // namespace

std::string StepFolder(const std::string& folder, int64_t step) {
  return fmt::format("{}/{}{:012}", folder, kStep, step);
}

std::string WritingFolder(const std::string& folder, int64_t step) {
  return fmt::format("{}/{}{:012}", folder, kWriting, step);
}

absl::StatusOr<std::vector<int64_t>> CheckpointSteps(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, disk.List(folder));
  std::vector<int64_t> steps;
  for (const std::string& name : names) {
    const std::optional<int64_t> step = NumberOf(name, kStep);
    if (!step) continue;
    ASSIGN_OR_RETURN(const bool whole, HasRecord(disk, StepFolder(folder, *step)));
    if (whole) steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

absl::Status RemoveHalfWritten(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, disk.List(folder));
  for (const std::string& name : names) {
    bool half = NumberOf(name, kWriting).has_value();
    if (NumberOf(name, kStep)) {
      ASSIGN_OR_RETURN(const bool whole, HasRecord(disk, folder + "/" + name));
      half = !whole;
    }
    if (half) RETURN_IF_ERROR(RemoveFolderWithFiles(disk, folder + "/" + name));
  }
  return absl::OkStatus();
}

absl::Status SetAside(Disk& disk, const std::string& folder, int64_t step) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(disk, folder));
  for (const int64_t later : steps) {
    if (later <= step) continue;
    const std::string aside = fmt::format("{}/{}{:012}", folder, kDamaged, later);
    RETURN_IF_ERROR(RemoveFolderWithFiles(disk, aside));
    RETURN_IF_ERROR(disk.Rename(StepFolder(folder, later), aside));
  }
  return disk.SyncFolder(folder);
}

absl::Status KeepNewest(Disk& disk, const std::string& folder, int64_t count) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(disk, folder));
  const auto more = static_cast<int64_t>(steps.size()) - count;
  for (int64_t i = 0; i < more; ++i) {
    const std::string old = StepFolder(folder, steps[static_cast<size_t>(i)]);
    RETURN_IF_ERROR(disk.RemoveFile(old + "/" + kRecordFile));
    RETURN_IF_ERROR(disk.SyncFolder(old));
    RETURN_IF_ERROR(RemoveFolderWithFiles(disk, old));
  }
  return absl::OkStatus();
}

}  // namespace partita
