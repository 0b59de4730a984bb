#include "run/flight/flight_folder.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>

#include "graph/value/node_name.h"
#include "run/flight/flight_file.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kPrefix[] = "rank-";
constexpr char kEnding[] = ".pbtxt";
constexpr size_t kLongestText = 240;

std::string FileOf(int rank) { return fmt::format("{}{:05}{}", kPrefix, rank, kEnding); }

// Files of ranks, or folders, by name.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder, bool folders) {
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool of_rank = name.starts_with(kPrefix) && name.ends_with(kEnding);
    if (folders ? entry->is_directory(error) : of_rank) names.push_back(name);
  }
  if (error)
    return InvalidArgument("{}: cannot be read as a folder: {}", Printable(folder, kLongestText), error.message());
  std::ranges::sort(names);
  return names;
}

// Of the folder itself, or of the newest in it that has any.
absl::StatusOr<std::string> FindRun(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> own, NamesIn(folder, /*folders=*/false));
  if (!own.empty()) return folder;
  ASSIGN_OR_RETURN(std::vector<std::string> runs, NamesIn(folder, /*folders=*/true));
  std::ranges::reverse(runs);
  for (const std::string& run : runs) {
    const std::string path = folder + "/" + run;
    ASSIGN_OR_RETURN(const std::vector<std::string> files, NamesIn(path, /*folders=*/false));
    if (!files.empty()) return path;
  }
  return InvalidArgument("{}: has no {}, and no folder that has; --flight-recorder writes them when a run fails",
                         Printable(folder, kLongestText), FileOf(0));
}

// A file that is of another job, or not of the rank that its name says, is as bad as one that cannot be read.
absl::StatusOr<FlightRecord> LoadOf(const FlightRun& run, const std::string& name) {
  const std::string path = run.folder + "/" + name;
  ASSIGN_OR_RETURN(FlightRecord record, LoadFlightRecord(path));
  if (FileOf(record.rank) != name)
    return InvalidArgument("{}: rank: found {}, which {} is of", path, record.rank, FileOf(record.rank));
  if (!run.records.empty() && run.records.front().ranks != record.ranks) {
    return InvalidArgument("{}: ranks: found {}, the ranks before it say {}", path, record.ranks,
                           run.records.front().ranks);
  }
  return record;
}

}  // namespace

std::string NewRunName() {
  const auto now = std::chrono::system_clock::now();
  const int64_t milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  return fmt::format("{:%Y%m%dT%H%M%S}.{:03}Z-{}", fmt::gmtime(std::time_t{milliseconds / 1000}), milliseconds % 1000,
                     getpid());
}

bool IsRunName(const std::string& name) {
  constexpr size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && name.front() != '.' &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-'; });
}

absl::Status SaveFlightRecords(const std::vector<FlightRecord>& records, const std::string& folder,
                               const std::string& run) {
  const std::string path = folder + "/" + run;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return InvalidArgument("{}: cannot be made: {}", Printable(path, kLongestText), error.message());
  if (std::filesystem::is_symlink(path, error)) {
    return InvalidArgument("{}: is a symbolic link; expected a folder", Printable(path, kLongestText));
  }
  for (const FlightRecord& record : records) {
    RETURN_IF_ERROR(SaveFlightRecord(record, path + "/" + FileOf(record.rank)));
  }
  return absl::OkStatus();
}

absl::StatusOr<FlightRun> LoadFlightRun(const std::string& folder) {
  FlightRun run;
  ASSIGN_OR_RETURN(run.folder, FindRun(folder));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(run.folder, /*folders=*/false));
  for (const std::string& name : names) {
    absl::StatusOr<FlightRecord> record = LoadOf(run, name);
    if (record.ok()) {
      run.records.push_back(*std::move(record));
    } else {
      run.unread.emplace_back(record.status().message());
    }
  }
  if (run.records.empty()) return InvalidArgument("{}", run.unread.front());
  return run;
}

}  // namespace partita
