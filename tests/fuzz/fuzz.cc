// Feeds readers with mutated bytes for as long as one likes, and keeps what breaks them.
#include <fmt/format.h>

#include <chrono>

#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "tests/fuzz/campaign.h"
#include "tests/fuzz/fuzz.pb.h"
#include "tools/program/exit_code.h"
#include "tools/program/run_main.h"

namespace partita {
namespace {

constexpr char kAll[] = "all";

std::vector<std::string> TargetNames() {
  std::vector<std::string> names = {kAll};
  for (const FuzzTarget& target : FuzzTargets()) names.emplace_back(target.name);
  return names;
}

// One line, and the input that broke the target, if any did.
absl::StatusOr<bool> Report(const FuzzTarget& target, const CampaignResult& result, double seconds,
                            const ContextOf<FuzzSpec>& context) {
  context.out << fmt::format("{:<18} {:>10} inputs {:>8.1f} s {:>6} MiB   {}\n", target.name, result.fed, seconds,
                             result.peak_bytes >> 20, result.breach ? result.breach->how : "")
              << std::flush;
  if (!result.breach) return true;
  const std::string path = fmt::format("{}/{}", context.spec.save(), target.name);
  RETURN_IF_ERROR(WriteFileAtomically(path, result.breach->input));
  context.out << "  kept as " << path << "\n";
  return false;
}

absl::StatusOr<int> Fuzz(const ContextOf<FuzzSpec>& context) {
  const std::string& chosen = context.spec.target();
  bool kept = true;
  for (const FuzzTarget& target : FuzzTargets()) {
    if (chosen != kAll && chosen != target.name) continue;
    const Campaign campaign = {ReadCorpus(context.spec.corpus() + "/" + target.name), context.spec.inputs(),
                               static_cast<uint64_t>(context.spec.seed())};
    const auto start = std::chrono::steady_clock::now();
    const CampaignResult result = RunCampaign(target, campaign);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    ASSIGN_OR_RETURN(const bool well, Report(target, result, time.count(), context));
    kept &= well;
  }
  return kept ? kExitFinished : kExitVerification;
}

// A file that broke a target, or was thought to.
absl::StatusOr<int> Replay(const ContextOf<FuzzSpec>& context) {
  const FuzzTarget* const target = FindFuzzTarget(context.spec.target());
  if (target == nullptr) return FlagError("flag --target: which one does the file belong to?");
  constexpr int64_t kLargest = 1 << 30;
  ASSIGN_OR_RETURN(const std::string input, ReadFile(context.spec.file(), kLargest));
  target->feed(input);
  context.out << "kept\n";
  return kExitFinished;
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  using namespace partita;
  const std::map<std::string, std::vector<std::string>> targets = {{"target", TargetNames()}};
  const ProgramDefinition fuzz = {
      "fuzz",
      "feed file readers with mutated bytes",
      FuzzSpec::default_instance(),
      {
          {.name = "run",
           .summary = "mutate the corpus",
           .argument = "",
           .run = Runs<FuzzSpec>(Fuzz),
           .choices = targets},
          {.name = "replay",
           .summary = "read one file again, in this process",
           .argument = "FILE",
           .run = Runs<FuzzSpec>(Replay),
           .choices = targets},
      },
  };
  return RunMain(fuzz, argc, argv);
}
