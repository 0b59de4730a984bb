#include "tests/partitioner/papers/tables/strategies_table.h"

#include <fmt/format.h>

#include "ops/registry.h"
#include "partitioner/cluster/cluster_description.h"
#include "runtime/base/status.h"
#include "tests/partitioner/papers/tables/simulated_step.h"
#include "tests/partitioner/papers/tables/six_plans.h"
#include "tests/partitioner/papers/tables/tables.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr AlphaBeta kLink = {5e-6, 1 / 20e9};
// Of devices that compute and wait for nothing else: the formulas know of no operands that are fetched.
constexpr double kFlopsPerSecond = 8e12, kBytesPerSecond = 1e18;
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

// What the formulas take for granted: collectives of the textbooks, launches that take no time.
absl::StatusOr<Cluster> ClusterOfFormulas(int devices) {
  const DeviceKind kind{
      "device", BackendKind::kHost, int64_t{1} << 40, kBytesPerSecond, {{DType::kF32, kFlopsPerSecond}}};
  const Link link{Fabric::kNetwork, 1 / kLink.beta, kLink.alpha, 1};
  return MakeCluster({"formulas", {kind}, {{"all", "", 1, kind.name, devices, link, {}}}});
}

absl::StatusOr<ComparedStrategy> Compare(ParallelForm form, int devices, const std::vector<Layer>& layers) {
  const int64_t batch = kBatchOfDevice * devices;
  const EpochOptions step{batch, batch, devices, kReplicas, kSegments};
  ComparedStrategy compared{form, devices, {}, {}, {}};
  ASSIGN_OR_RETURN(compared.formula, CostOfEpoch(form, layers, SecondsOf(layers), step, kLink));
  ASSIGN_OR_RETURN(const Cluster cluster, ClusterOfFormulas(devices));
  ASSIGN_OR_RETURN(const Model model, MakeModel("vgg-16", {.batch = batch, .dropout = false}, Ops()));
  ASSIGN_OR_RETURN(const Strategy plan, PlanOf(form, model.graph, step, cluster));
  ASSIGN_OR_RETURN(compared.simulated, SimulatedStepOf(model, plan, cluster));
  return compared;
}

absl::StatusOr<std::string> Print(const TableSizes& sizes) {
  ASSIGN_OR_RETURN(const std::vector<ComparedStrategy> all,
                   sizes.ranks > 0 ? CompareStrategies({sizes.ranks}) : CompareStrategies());
  std::string text = fmt::format(
      "an epoch of ImageNet with VGG-16, s; {} images a device, 8 TFLOP/s, 5 us a message, 20 GB/s; not "
      "measured by anybody\n{:<15} {:>7} {:>25} {:>36}\n{:<15} {:>7} {:>9} {:>14} {:>7} {:>9} {:>14} {:>8} {:>7} "
      "{:>7}\n",
      kBatchOfDevice, "", "", "by formulas", "as plans that are simulated", "strategy", "devices", "compute",
      "communication", "all", "compute", "communication", "exposed", "all", "of it");
  for (const ComparedStrategy& one : all) {
    if (!one.refusal.empty()) {
      text += fmt::format("{:<15} {:>7} {}\n", Name(one.form), one.devices, one.refusal);
      continue;
    }
    const double steps = static_cast<double>(kImageNet) / static_cast<double>(kBatchOfDevice * one.devices);
    text += fmt::format("{:<15} {:>7} {:9.1f} {:14.1f} {:7.1f} {:9.1f} {:14.1f} {:8.1f} {:7.1f} {:>7.2f}\n",
                        Name(one.form), one.devices, steps * one.formula.compute, steps * one.formula.communication,
                        steps * one.formula.seconds(), steps * one.simulated.compute,
                        steps * one.simulated.communication, steps * one.simulated.exposed, steps * one.simulated.step,
                        one.simulated.step / one.formula.seconds());
  }
  return text;
}

}  // namespace

absl::StatusOr<std::vector<ComparedStrategy>> CompareStrategies(const std::vector<int>& devices) {
  ASSIGN_OR_RETURN(const std::vector<Layer> layers, LayersOfShipped("vgg-16"));
  std::vector<ComparedStrategy> all;
  for (ParallelForm form : kParallelForms) {
    for (const int count : devices) {
      absl::StatusOr<ComparedStrategy> compared = Compare(form, count, layers);
      if (absl::IsInvalidArgument(compared.status())) {
        const ComparedStrategy refused{form, count, {}, {}, std::string(compared.status().message())};
        compared = refused;
      }
      if (!compared.ok()) return compared.status();
      all.push_back(*std::move(compared));
    }
  }
  return all;
}

PaperTable StrategiesTable() { return {"strategies", "Kahira et al. (ParaDL): six strategies", true, false, Print}; }

}  // namespace partita
