#include "tools/commands/run_options.h"

#include <algorithm>
#include <thread>

#include "runtime/telemetry/log.h"

namespace partita {

std::vector<std::string> RunFlags() {
  return {"device", "threads", "memory", "bucket-bytes", "precision", "verify-passes", "log"};
}

ProgramOptions ReadProgramOptions(const Flags& flags) {
  ProgramOptions options;
  if (flags.Text("precision") == "f64") options.floating = DType::kF64;
  if (flags.IsSet("bucket-bytes")) options.bucket_bytes = flags.Int("bucket-bytes");
  options.verify_passes = flags.Bool("verify-passes");
  return options;
}

SessionOptions ReadSessionOptions(const Flags& flags) {
  SessionOptions options;
  options.seed = static_cast<uint64_t>(flags.Int("seed"));
  options.threads_per_rank = static_cast<int>(flags.Int("threads"));
  options.memory_limit = flags.Int("memory");
  if (flags.Int("delay-seed") > 0) options.delay_seed = static_cast<uint64_t>(flags.Int("delay-seed"));
  return options;
}

int ThreadsPerRank(const Flags& flags, int ranks) {
  if (flags.Int("threads") > 0) return static_cast<int>(flags.Int("threads"));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / ranks);
}

absl::Status SetUpLogging(const Flags& flags) {
  const std::string& level = flags.Text("log");
  return SetUpLog(level == "warning" ? "warn" : level);
}

}  // namespace partita
