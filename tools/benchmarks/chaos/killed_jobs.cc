#include "tools/benchmarks/chaos/killed_jobs.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/base/status.h"

namespace partita {
namespace {

// All that a command writes on standard output.
absl::StatusOr<std::string> OutputOf(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ResourceExhausted("cannot start {}", command);
  std::string output;
  char piece[4096];
  for (size_t got = 0; (got = std::fread(piece, 1, sizeof piece, pipe)) > 0;) output.append(piece, got);
  pclose(pipe);
  return output;
}

Tally TallyOf(const nlohmann::json& json) { return {json.at("count"), json.at("kept")}; }

}  // namespace

absl::StatusOr<KilledJobs> KillJobs(const KilledJobsOptions& options) {
  ASSIGN_OR_RETURN(const std::string output,
                   OutputOf(fmt::format("python3 '{}' --trainer='{}' --graph='{}' --kills={} --seed={}", options.script,
                                        options.trainer, options.graph, options.kills, options.seed)));
  try {
    const nlohmann::json json = nlohmann::json::parse(output);
    KilledJobs found;
    for (const nlohmann::json& row : json.at("faults")) {
      found.faults.push_back({row.at("fault"), row.at("where"), TallyOf(row)});
    }
    found.trials = TallyOf(json.at("trials"));
    found.checkpoints = TallyOf(json.at("checkpoints"));
    found.breaches = json.at("breaches").get<std::vector<std::string>>();
    return found;
  } catch (const nlohmann::json::exception&) {
    return Internal("{} did not say what it found, but: {}", options.script, output);
  }
}

}  // namespace partita
