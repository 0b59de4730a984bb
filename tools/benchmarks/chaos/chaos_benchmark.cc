#include "tools/benchmarks/chaos/chaos_benchmark.h"

#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "tools/benchmarks/chaos/byte_flips.h"
#include "tools/benchmarks/chaos/save_faults.h"
#include "tools/benchmarks/chaos/saved_session.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(fs::temp_directory_path() / "chaos.XXXXXX") { made_ = ::mkdtemp(path_.data()) != nullptr; }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    if (made_) fs::remove_all(path_, error);
  }
  absl::StatusOr<std::string> Below(const std::string& name) const {
    if (!made_) return ResourceExhausted("{}: cannot be made", path_);
    return path_ + "/" + name;
  }

 private:
  std::string path_;
  bool made_ = false;
};

// Those that came too late hit nothing.
constexpr char kMissed[] = "missed";

absl::Status AddJobs(const KilledJobsOptions& options, ChaosResult& result) {
  ASSIGN_OR_RETURN(const KilledJobs jobs, KillJobs(options));
  for (const KilledJobs::Fault& fault : jobs.faults) {
    if (fault.where != kMissed) result.rows.push_back({fault.fault, fault.where, fault.tally});
  }
  result.rows.push_back({"training", "its bits", jobs.trials});
  result.rows.push_back({"checkpoint", "its bits", jobs.checkpoints});
  result.breaches.insert(result.breaches.end(), jobs.breaches.begin(), jobs.breaches.end());
  return absl::OkStatus();
}

absl::Status AddSaveFaults(const std::string& folder, const ChaosOptions& options, ChaosResult& result) {
  ASSIGN_OR_RETURN(const SaveFaults faults,
                   FailSaves(folder, options.save_faults, static_cast<uint64_t>(options.jobs.seed)));
  result.rows.push_back({"end, power cut", "operations of saves", faults.ended});
  result.rows.push_back({"full disk", "operations of saves", faults.full});
  result.breaches.insert(result.breaches.end(), faults.breaches.begin(), faults.breaches.end());
  return absl::OkStatus();
}

absl::Status AddFlips(const std::string& folder, const ChaosOptions& options, ChaosResult& result) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, SmallSession(2, 2));
  RETURN_IF_ERROR(SetRandomly(*session, 1));
  RETURN_IF_ERROR(SystemDisk().MakeFolder(folder));
  RETURN_IF_ERROR(WriteCheckpoint(*session, {.step = 1}, folder, SystemDisk()));
  ASSIGN_OR_RETURN(const ByteFlips flips,
                   FlipBytes(StepFolder(folder, 1), options.flips, static_cast<uint64_t>(options.jobs.seed)));
  result.rows.push_back({"bit flipped", "records", flips.in_record});
  result.rows.push_back({"bit flipped", "heads of shards", flips.in_heads});
  result.rows.push_back({"bit flipped", "tensors", flips.in_tensors});
  result.breaches.insert(result.breaches.end(), flips.missed.begin(), flips.missed.end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ChaosResult> BenchmarkChaos(const ChaosOptions& options) {
  const TemporaryFolder temporary;
  ChaosResult result;
  if (options.flips > 0) {
    ASSIGN_OR_RETURN(const std::string folder, temporary.Below("flips"));
    RETURN_IF_ERROR(AddFlips(folder, options, result));
  }
  if (options.save_faults > 0) {
    ASSIGN_OR_RETURN(const std::string folder, temporary.Below("saves"));
    RETURN_IF_ERROR(AddSaveFaults(folder, options, result));
  }
  if (options.jobs.kills > 0) RETURN_IF_ERROR(AddJobs(options.jobs, result));
  return result;
}

std::string ToText(const ChaosResult& result) {
  std::string text = fmt::format("{:<16} {:<20} {:>8} {:>12}\n", "what", "where", "count", "as promised");
  for (const ChaosRow& row : result.rows) {
    text += fmt::format("{:<16} {:<20} {:>8} {:>12}\n", row.what, row.where, row.tally.count, row.tally.kept);
  }
  for (const std::string& breach : result.breaches) text += "not as promised: " + breach + "\n";
  return text;
}

std::string ToJson(const ChaosResult& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ChaosRow& row : result.rows) {
    rows.push_back(
        {{"what", row.what}, {"where", row.where}, {"count", row.tally.count}, {"as_promised", row.tally.kept}});
  }
  return nlohmann::json{{"rows", rows}, {"breaches", result.breaches}}.dump(2) + "\n";
}

}  // namespace partita
