#include <fmt/format.h>

#include "partitioner/cost/nccl_cost.h"
#include "runtime/base/status.h"
#include "tests/partitioner/papers/tables/tables.h"

namespace partita {
namespace {

struct Machines {
  int ranks, nodes;
};
constexpr Machines kMachines[] = {{2, 1}, {8, 1}, {128, 16}};
constexpr int kGpusOfNode = 8;

absl::StatusOr<std::vector<Machines>> MachinesOf(const TableSizes& sizes) {
  if (sizes.ranks == 0) return std::vector<Machines>(std::begin(kMachines), std::end(kMachines));
  if (sizes.ranks <= kGpusOfNode) return std::vector<Machines>{{sizes.ranks, 1}};
  if (sizes.ranks % kGpusOfNode != 0) {
    return InvalidArgument("flag --ranks is {}; expected 1 to {}, or a multiple of {}, the GPUs of a node", sizes.ranks,
                           kGpusOfNode, kGpusOfNode);
  }
  return std::vector<Machines>{{sizes.ranks, sizes.ranks / kGpusOfNode}};
}

absl::StatusOr<std::string> Print(const TableSizes& sizes) {
  ASSIGN_OR_RETURN(const std::vector<Machines> all, MachinesOf(sizes));
  std::string text =
      fmt::format("latency of an all_reduce over NVLink and InfiniBand, us\n{:<14} {:<9} {:>8} {:>8} {:>8}\n",
                  "GPUs x nodes", "algorithm", "LL", "LL128", "Simple");
  for (const Machines& machines : all) {
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

PaperTable NcclTable() { return {"nccl", "NCCL's own model: latencies of rings and trees", true, false, Print}; }

}  // namespace partita
