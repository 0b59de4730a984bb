#include <fmt/format.h>

#include "runtime/base/status.h"
#include "tests/partitioner/papers/group_hybrid_cost.h"
#include "tests/partitioner/papers/tables/tables.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 256;
constexpr AlphaBeta kLink = {5e-6, 1 / 10e9};

struct Network {
  const char* model;
  int workers;
};

std::vector<Network> NetworksOfPaper() { return {{"vgg-16", 8}, {"vgg-16", 16}, {"alexnet", 8}}; }

std::vector<Network> NetworksOn(int workers) { return {{"vgg-16", workers}, {"alexnet", workers}}; }

absl::StatusOr<std::string> Print(const TableSizes& sizes) {
  const int64_t batch = sizes.batch > 0 ? sizes.batch : kBatch;
  std::string text = fmt::format(
      "communication of a step, ms; B = {}, 5 us a message, 10 GB/s\n{:<10} {:>6} {:>9} {:>13} {:>7} {:>12} {:>11}\n",
      batch, "network", "groups", "all", "convolutions", "dense", "activations", "MB weights");
  for (const Network& network : sizes.ranks > 0 ? NetworksOn(sizes.ranks) : NetworksOfPaper()) {
    ASSIGN_OR_RETURN(const std::vector<Layer> layers, LayersOfShipped(network.model));
    for (const int members : DivisorsOf(network.workers)) {
      const int groups = network.workers / members;
      const GroupHybridCost cost = CostOfGroups(layers, groups, members, batch, kLink);
      text += fmt::format("{:<10} {:>6} {:9.2f} {:13.2f} {:7.2f} {:12.2f} {:11.1f}\n", network.model,
                          fmt::format("{}x{}", groups, members), 1e3 * cost.seconds(), 1e3 * cost.convolutions,
                          1e3 * cost.dense, 1e3 * cost.activations, cost.weight_bytes / 1e6);
    }
  }
  return text;
}

}  // namespace

PaperTable GroupsTable() { return {"groups", "Joo and Youn: groups of workers, as reconstructed", true, true, Print}; }

}  // namespace partita
