#include "tools/benchmarks/train/train_processes.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/files.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kLargestReport = 1 << 20;  // bytes

RankCommunication CommunicationOf(const nlohmann::json& rank) {
  RankCommunication result;
  result.rank = rank.value("rank", 0);
  result.steps = rank.value("steps", int64_t{0});
  result.busy = rank.value("busy_seconds", 0.0);
  result.exposed = rank.value("exposed_seconds", 0.0);
  result.gradient_busy = rank.value("gradient_busy_seconds", 0.0);
  result.gradient_exposed = rank.value("gradient_exposed_seconds", 0.0);
  result.gradient_behind_backward = rank.value("gradient_behind_backward_seconds", 0.0);
  result.hidden_share = rank.value("hidden_share", 1.0);
  result.gradient_hidden_share = rank.value("gradient_hidden_share", 1.0);
  return result;
}

}  // namespace

absl::StatusOr<TrainRow> TrainAsProcesses(const TrainBenchmarkOptions& options, int replicas) {
  const std::filesystem::path report =
      std::filesystem::temp_directory_path() / fmt::format("partita-benchmark-{}.json", getpid());
  const std::string command = fmt::format(
      "'{}' launch --nproc={} -- train --mock-data --log=warning --dp={} --threads=1 --batch={} --precision={} "
      "--epochs=1000000 --steps={} --report='{}' '{}' >/dev/null",
      options.trainer, replicas, replicas, options.batch, options.mix_precision ? "bf16" : "f32",
      options.steps * options.rounds, report.string(), options.graph);
  const int code = std::system(command.c_str());
  const absl::StatusOr<std::string> text = ReadFile(report.string(), kLargestReport);
  std::error_code ignored;
  std::filesystem::remove(report, ignored);
  if (code != 0) return Internal("{} failed", command);
  RETURN_IF_ERROR(text.status());
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Internal("{} wrote no report", command);
  TrainRow row;
  row.model = options.model;
  row.precision = options.mix_precision ? "bf16" : "f32";
  row.ranks = row.threads = replicas;
  row.processes = true;
  row.samples_per_s = json.value("samples_per_second", 0.0);
  for (const nlohmann::json& rank : json.value("communication", nlohmann::json::array())) {
    row.communication.push_back(CommunicationOf(rank));
  }
  return row;
}

}  // namespace partita
