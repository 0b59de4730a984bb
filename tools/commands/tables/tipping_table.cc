#include <fmt/format.h>

#include <optional>

#include "partitioner/papers/time_to_accuracy.h"
#include "runtime/base/status.h"
#include "tools/commands/tables/tables.h"

namespace partita {
namespace {

constexpr int kSplit = 2;
constexpr int64_t kBatch = 64;  // of a device
constexpr double kSpeedup = 1.32;

// As the paper reports them, which nobody else has measured: 4 epochs up to a batch of 2,048.
const EpochCurve& Inception() {
  static const auto& curve =
      *new EpochCurve{"inception-v3", {{kBatch, 4}, {2048, 4}, {4096, 7}, {8192, 12}, {16384, 23}}};
  return curve;
}

absl::StatusOr<std::string> Print() {
  std::string text = fmt::format(
      "Inception-V3, speed-up over one device in time to accuracy; {} images a device, replicas on {} devices {} times "
      "as fast\n{:>8} {:>9} {:>9} {:>13}\n",
      kBatch, kSplit, kSpeedup, "devices", "replicas", "hybrid", "hybrid/replicas");
  for (int devices = 16; devices <= 256; devices *= 2) {
    ASSIGN_OR_RETURN(const Decision decision, Decide(Inception(), {devices / kSplit, kSplit, kSpeedup, kBatch, {}}));
    text += fmt::format("{:>8} {:9.2f} {:9.2f} {:13.3f}\n", devices, decision.data, decision.hybrid,
                        decision.hybrid / decision.data);
  }
  ASSIGN_OR_RETURN(const std::optional<int> tipping, TippingPoint(Inception(), kSplit, kSpeedup, kBatch));
  text += tipping ? fmt::format("the hybrid is sooner from {} devices on\n", *tipping) : "the hybrid is never sooner\n";
  text += "\nE(2N)/E(N) from which two devices a replica are better:";
  for (double speedup : {1.32, 1.15, 1.22}) {
    text += fmt::format("  {:.4f} at {:.2f}", BreakEvenEpochs(kSplit, speedup, {}), speedup);
  }
  return text + "\n";
}

}  // namespace

PaperTable TippingTable() { return {"tipping", "Pal et al.: replicas or larger replicas", Print}; }

}  // namespace partita
