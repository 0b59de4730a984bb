// The machines that a plan is made for: devices in a tree of domains, and the links within and between these.
//
//   rack ── within ──┬─────────────────┐          a message from d0 to d3 passes up of node[0], within of the rack,
//                  up│               up│          up of node[1]; one from d0 to d1 passes within of node[0] alone
//                 node[0] ─ within   node[1]
//                 d0  d1             d2  d3
#ifndef PARTITA_PARTITIONER_CLUSTER_CLUSTER_H_
#define PARTITA_PARTITIONER_CLUSTER_CLUSTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/value/dtype.h"
#include "partitioner/cluster/slowdown.h"

namespace partita {

enum class Fabric : uint8_t { kMemory, kPci, kNvlink, kNetwork };
inline constexpr Fabric kFabrics[] = {Fabric::kMemory, Fabric::kPci, Fabric::kNvlink, Fabric::kNetwork};
const char* Name(Fabric fabric);

struct Link {
  Fabric fabric = Fabric::kMemory;
  double bytes_per_second = 0;  // of each that it links, out and, at the same time, in
  double latency_seconds = 0;   // of one message
  int channels = 1;             // that a library spreads one collective over
};

enum class BackendKind : uint8_t { kHost, kCuda };

struct DeviceKind {
  std::string name;
  BackendKind backend = BackendKind::kHost;
  int64_t memory_bytes = 0;
  double bytes_per_second = 0;               // of its memory
  std::map<DType, double> flops_per_second;  // f32 at least
  double launch_seconds = 0;
  bool cores_shared = false;   // the numbers above are of all ranks of a domain together
  int compute_capability = 0;  // of GPUs, e.g. 90
  double wake_seconds = 0;     // until a stream goes on that has waited for another one
  std::string model = {};      // of GPUs, as CUDA has it, e.g. "NVIDIA H200"; empty: not known
  int cores = 0;               // of cores_shared: how many they are; 0: not known
  Slowdown slowdown = {};      // of cores_shared; empty: a rank has its share of them however few compute
  // For each op, the time of its kernels as a multiple of the roofline's; 1 for ops that are not listed.
  std::map<std::string, double> op_times = {};
};

struct Domain {
  std::string name;  // "node[3]" where there are several alike
  int parent = -1;   // -1: the outermost
  Link within, up;   // bytes_per_second is 0 where there is nothing to link
};

struct ClusterDevice {
  int kind = 0;
  int domain = 0;
};

struct Cluster {
  std::string name;
  std::vector<DeviceKind> kinds;
  std::vector<Domain> domains;         // a domain stands before those in it; the outermost is the first
  std::vector<ClusterDevice> devices;  // in rank order: rank r has device r

  const DeviceKind& KindOf(int rank) const { return kinds[devices[rank].kind]; }
};

// kInvalidArgument: there are more ranks than devices.
absl::Status CheckRanks(const Cluster& cluster, int ranks);

// How many ranks a plan has there unless a user says: one a device, but of devices that share cores one a core.
int RanksByDefault(const Cluster& cluster);

// The domains from the outermost to the one that `device` lies in.
std::vector<int> DomainsOf(const Cluster& cluster, int device);

// The path of a message between two devices: the sum of the latencies and the least speed on it, and the fabric and
// channels of the slowest link. A device's path to itself has latency 0 and infinite speed. `sharing`: for each domain,
// how many messages share its uplink; empty: none.
Link LinkBetween(const Cluster& cluster, int from, int to, const std::vector<int>& sharing = {});

// How many of the first `ranks` devices have their cores in common with `rank`, itself counted; 1 where none are.
int RanksSharingCores(const Cluster& cluster, int rank, int ranks);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CLUSTER_CLUSTER_H_
