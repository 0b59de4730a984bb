#include <fmt/format.h>

#include "partitioner/papers/group_hybrid_cost.h"
#include "runtime/base/status.h"
#include "tools/commands/tables/tables.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 256;
constexpr AlphaBeta kLink = {5e-6, 1 / 10e9};

struct Network {
  const char* model;
  int workers;
};
constexpr Network kNetworks[] = {{"vgg-16", 8}, {"vgg-16", 16}, {"alexnet", 8}};

absl::StatusOr<std::string> Print() {
  std::string text = fmt::format(
      "communication of a step, ms; B = {}, 5 us a message, 10 GB/s\n{:<10} {:>6} {:>9} {:>13} {:>7} {:>12} {:>11}\n",
      kBatch, "network", "groups", "all", "convolutions", "dense", "activations", "MB weights");
  for (const Network& network : kNetworks) {
    ASSIGN_OR_RETURN(const std::vector<Layer> layers, LayersOfShipped(network.model));
    for (int members = 1; members <= network.workers; members *= 2) {
      const int groups = network.workers / members;
      const GroupHybridCost cost = CostOfGroups(layers, groups, members, kBatch, kLink);
      text += fmt::format("{:<10} {:>6} {:9.2f} {:13.2f} {:7.2f} {:12.2f} {:11.1f}\n", network.model,
                          fmt::format("{}x{}", groups, members), 1e3 * cost.seconds(), 1e3 * cost.convolutions,
                          1e3 * cost.dense, 1e3 * cost.activations, cost.weight_bytes / 1e6);
    }
  }
  return text;
}

}  // namespace

PaperTable GroupsTable() { return {"groups", "Joo and Youn: groups of workers, as reconstructed", Print}; }

}  // namespace partita
