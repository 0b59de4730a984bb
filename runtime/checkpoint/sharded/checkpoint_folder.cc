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

// A folder that cannot be listed may have one: whoever reads it says why it cannot be read.
bool HasRecord(Disk& disk, const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = disk.List(folder);
  return !names.ok() || std::ranges::find(*names, kRecordFile) != names->end();
}

// Cleaning continues after an error, and reports all of them.
void Add(const absl::Status& error, absl::Status& errors) {
  if (errors.ok()) {
    errors = error;
  } else if (!error.ok()) {
    errors =
        absl::Status(errors.code(), fmt::format("{}; {}", std::string(errors.message()), std::string(error.message())));
  }
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
    const std::string path = folder + "/" + name;
    if (step && disk.KindOf(path) == Disk::Kind::kFolder && HasRecord(disk, path)) steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

absl::Status RemoveCheckpoint(Disk& disk, const std::string& folder) {
  const Disk::Kind kind = disk.KindOf(folder);
  if (kind == Disk::Kind::kNothing) return absl::OkStatus();
  if (kind == Disk::Kind::kOther) {
    return InvalidArgument("{}: is a link or a file with the name of a checkpoint; expected a folder", folder);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, disk.List(folder));
  absl::Status errors;
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    Add(IsCheckpointFile(name) ? disk.RemoveFile(path)
                               : InvalidArgument("{}: is no file of a checkpoint, so its folder stays", path),
        errors);
  }
  return errors.ok() ? disk.RemoveFolder(folder) : errors;
}

absl::Status RemoveHalfWritten(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, disk.List(folder));
  absl::Status errors;
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    const bool half = NumberOf(name, kWriting) ||
                      (NumberOf(name, kStep) && !(disk.KindOf(path) == Disk::Kind::kFolder && HasRecord(disk, path)));
    if (half) Add(RemoveCheckpoint(disk, path), errors);
  }
  return errors;
}

absl::Status SetAside(Disk& disk, const std::string& folder, int64_t step) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(disk, folder));
  for (const int64_t later : steps) {
    if (later <= step) continue;
    const std::string damaged = fmt::format("{}/{}{:012}", folder, kDamaged, later);
    RemoveCheckpoint(disk, damaged).IgnoreError();  // what stays keeps its name
    std::string aside = damaged;
    for (int i = 2; disk.KindOf(aside) != Disk::Kind::kNothing; ++i) aside = fmt::format("{}.{}", damaged, i);
    RETURN_IF_ERROR(disk.Rename(StepFolder(folder, later), aside));
  }
  return disk.SyncFolder(folder);
}

absl::Status KeepNewest(Disk& disk, const std::string& folder, int64_t count) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(disk, folder));
  const auto more = static_cast<int64_t>(steps.size()) - count;
  absl::Status errors;
  for (int64_t i = 0; i < more; ++i) {
    const std::string old = StepFolder(folder, steps[static_cast<size_t>(i)]);
    absl::Status removed = disk.RemoveFile(old + "/" + kRecordFile);
    if (removed.ok()) removed = disk.SyncFolder(old);
    Add(removed.ok() ? RemoveCheckpoint(disk, old) : removed, errors);
  }
  return errors;
}

}  // namespace partita
