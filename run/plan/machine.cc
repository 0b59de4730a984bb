#include "run/plan/machine.h"

#include <filesystem>
#include <string>
#include <vector>

#include "graph/value/node_name.h"
#include "partitioner/clusters/cluster_by_default.h"
#include "partitioner/clusters/shipped_clusters.h"
#include "partitioner/cost/cluster_speed.h"
#include "partitioner/proto_io/cluster_io.h"
#include "partitioner/proto_io/profile_io.h"
#include "run/host/host.h"
#include "run/host/version.h"
#include "run/plan/run_options.h"
#include "run/spec/spec_error.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// What has no ending is no file of a cluster.
absl::StatusOr<Cluster> FindCluster(const std::filesystem::path& path) {
  if (path.has_extension()) return LoadCluster(path.string());
  const std::string name = path.filename().string();
  const auto shipped = ShippedClusters().find(name);
  if (shipped != ShippedClusters().end()) return shipped->second;
  std::vector<std::string> known;
  for (const auto& [other, cluster] : ShippedClusters()) known.push_back(other);
  return FlagError("flag --cluster: {} is no file (.pbtxt, .pb) and no shipped cluster{}", Quoted(name),
                   Suggestion(name, known));
}

absl::Status CheckIsHere(const std::string& path, const Profile& profile) {
  const absl::Status same = CheckKey(profile.key, KeyOfThisMachine());
  if (same.ok()) return same;
  return InvalidArgument("{}: {} (beside --cluster it stands for the devices there)", path,
                         std::string(same.message()));
}

absl::Status CheckBackend(const std::string& path, const Profile& profile, const Cluster& cluster) {
  const bool host = profile.machine.kinds[0].backend == BackendKind::kHost;
  if (host == (cluster.KindOf(0).backend == BackendKind::kHost)) return absl::OkStatus();
  return InvalidArgument("{} is of {}, cluster {} has {}; both of one kind are needed", path, host ? "a host" : "a GPU",
                         Quoted(cluster.name), host ? "GPUs" : "hosts");
}

}  // namespace

ProfileKey KeyOfThisMachine() {
  const Host host = ThisHost();
  ProfileKey key{fmt::format("{} ({} cores)", host.processor, host.cores), {{"partita", kToolVersion}}};
  for (const auto& [name, version] : LibraryVersions()) {
    if (name == "compiler" || name == "onednn") key.libraries[name] = version;
  }
  return key;
}

absl::StatusOr<std::optional<Machine>> ReadMachine(const MachineSpec& spec, bool processes) {
  Machine machine{{}, std::nullopt, processes};
  if (spec.has_profile()) {
    ASSIGN_OR_RETURN(machine.profile, LoadProfile(spec.profile()));
  }
  if (spec.has_cluster()) {
    ASSIGN_OR_RETURN(machine.cluster, FindCluster(spec.cluster()));
    if (machine.profile) RETURN_IF_ERROR(CheckBackend(spec.profile(), *machine.profile, machine.cluster));
  } else if (machine.profile) {
    RETURN_IF_ERROR(CheckIsHere(spec.profile(), *machine.profile));
    ASSIGN_OR_RETURN(machine.cluster, ClusterOf(*machine.profile, processes));
  } else {
    return std::nullopt;
  }
  return machine;
}

Spread SpreadOf(const Machine& machine) { return machine.processes ? Spread::kProcesses : Spread::kThreads; }

KernelTimes KernelTimesOf(const Machine& machine, int ranks) {
  if (!machine.profile) return {};
  return KernelTimesFor(*machine.profile, RanksSharingCores(machine.cluster, 0, ranks));
}

absl::StatusOr<MachineSpeed> SpeedFor(const RunSpec& spec, const std::optional<Machine>& machine, int ranks) {
  if (!machine) return SpeedByDefault(ranks, GpuModelFor(spec));
  RETURN_IF_ERROR(CheckRanks(machine->cluster, ranks));
  return SpeedOf(machine->cluster, ranks);
}

SplitSpeed SpeedOfSplits(const Cluster& cluster, int data, int model) {
  return {RingBytesPerSecond(cluster, 0, model), RingBytesPerSecond(cluster, 0, data * model)};
}

}  // namespace partita
