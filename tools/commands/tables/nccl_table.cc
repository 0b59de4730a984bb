#include <fmt/format.h>

#include "partitioner/cost/nccl_cost.h"
#include "tools/commands/tables/tables.h"

namespace partita {
namespace {

struct Machines {
  int ranks, nodes;
};
constexpr Machines kMachines[] = {{2, 1}, {8, 1}, {128, 16}};

absl::StatusOr<std::string> Print() {
  std::string text =
      fmt::format("latency of an all_reduce over NVLink and InfiniBand, us\n{:<14} {:<9} {:>8} {:>8} {:>8}\n",
                  "GPUs x nodes", "algorithm", "LL", "LL128", "Simple");
  for (const Machines& machines : kMachines) {
    NcclTopology topology;
    topology.ranks = machines.ranks;
    topology.nodes = machines.nodes;
    for (NcclAlgorithm algorithm : {NcclAlgorithm::kRing, NcclAlgorithm::kTree}) {
      text += fmt::format("{:<14} {:<9}", fmt::format("{} x {}", machines.ranks / machines.nodes, machines.nodes),
                          Name(algorithm));
      for (NcclProtocol protocol : kNcclProtocols) {
        text += fmt::format(" {:8.1f}", 1e6 * NcclLatency(CollectiveKind::kAllReduce, algorithm, protocol, topology));
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace

PaperTable NcclTable() { return {"nccl", "NCCL's own model: latencies of rings and trees", Print}; }

}  // namespace partita
