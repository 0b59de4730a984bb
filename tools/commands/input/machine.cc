#include "tools/commands/input/machine.h"

#include <filesystem>
#include <string>
#include <vector>

#include "graph/value/node_name.h"
#include "partitioner/cost/cluster_speed.h"
#include "partitioner/proto_io/cluster_io.h"
#include "runtime/base/status.h"
#include "tools/clusters/shipped_clusters.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// What has no ending is no file of a cluster.
absl::StatusOr<Cluster> FindCluster(const std::filesystem::path& path) {
  if (path.has_extension()) return LoadCluster(path.string());
  const std::string name = path.filename().string();
  const auto shipped = ShippedClusters().find(name);
  if (shipped != ShippedClusters().end()) return ParseCluster(shipped->second, ProtoFormat::kText, "cluster " + name);
  std::vector<std::string> known;
  for (const auto& [other, text] : ShippedClusters()) known.push_back(other);
  return FlagError("flag --cluster: {} is no file (.pbtxt, .pb) and no shipped cluster{}", Quoted(name),
                   Suggestion(name, known));
}

}  // namespace

absl::StatusOr<std::optional<Machine>> ReadMachine(const Flags& flags) {
  if (!flags.IsSet("cluster")) return std::nullopt;
  ASSIGN_OR_RETURN(Cluster cluster, FindCluster(flags.Text("cluster")));
  return Machine{std::move(cluster)};
}

absl::StatusOr<std::optional<MachineSpeed>> SpeedFor(const std::optional<Machine>& machine, int ranks) {
  if (!machine) return std::nullopt;
  RETURN_IF_ERROR(CheckRanks(machine->cluster, ranks));
  return SpeedOf(machine->cluster, ranks);
}

SplitSpeed SpeedOfSplits(const Cluster& cluster, int data, int model) {
  return {RingBytesPerSecond(cluster, 0, model), RingBytesPerSecond(cluster, 0, data * model)};
}

}  // namespace partita
