#include <fmt/format.h>

#include "partitioner/papers/six_strategies.h"
#include "runtime/base/status.h"
#include "tools/commands/tables/tables.h"

namespace partita {
namespace {

constexpr AlphaBeta kLink = {5e-6, 1 / 20e9};
constexpr double kFlopsPerSecond = 8e12, kBytesPerSecond = 900e9;
constexpr int64_t kImageNet = 1'281'167, kBatchOfDevice = 32;
constexpr int kReplicas = 2, kSegments = 8;

// By the roofline: backward takes twice the forward's multiply-adds; an update reads weight and gradient and writes.
std::vector<LayerSeconds> SecondsOf(const std::vector<Layer>& layers) {
  std::vector<LayerSeconds> seconds;
  for (const Layer& layer : layers) {
    const double forward = 2 * layer.multiply_adds / kFlopsPerSecond;
    const auto weights = static_cast<double>(layer.weights + layer.biases);
    seconds.push_back({forward, 2 * forward, 3 * 4 * weights / kBytesPerSecond});
  }
  return seconds;
}

absl::StatusOr<std::string> Print() {
  ASSIGN_OR_RETURN(const std::vector<Layer> layers, LayersOfShipped("vgg-16"));
  std::string text = fmt::format(
      "an epoch of ImageNet with VGG-16, s; {} images a device, 8 TFLOP/s, 900 GB/s, 5 us a message, 20 GB/s; not "
      "measured by anybody\n{:<15} {:>7} {:>9} {:>14} {:>9}\n",
      kBatchOfDevice, "strategy", "devices", "compute", "communication", "all");
  for (ParallelForm form : kParallelForms) {
    for (int devices : {4, 16}) {
      const EpochOptions options{kImageNet, kBatchOfDevice * devices, devices, kReplicas, kSegments};
      const absl::StatusOr<EpochCost> cost = CostOfEpoch(form, layers, SecondsOf(layers), options, kLink);
      RETURN_IF_ERROR(cost.status());
      text += fmt::format("{:<15} {:>7} {:9.1f} {:14.1f} {:9.1f}\n", Name(form), devices, cost->compute,
                          cost->communication, cost->seconds());
    }
  }
  return text;
}

}  // namespace

PaperTable StrategiesTable() { return {"strategies", "Kahira et al. (ParaDL): six strategies", Print}; }

}  // namespace partita
