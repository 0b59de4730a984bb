#include "partitioner/cost/nccl_cost.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "runtime/base/check.h"

namespace partita {
namespace {

constexpr double kMicrosecond = 1e-6, kGigabyte = 1e9;

// Microseconds and GB/s, as NCCL has them. [tree, ring][LL, LL128, Simple]
constexpr double kBase[2][3] = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};
enum Hardware { kNvlinkHop, kPciHop, kNetworkHop };
constexpr double kHop[3][2][3] = {
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}}, {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}}, {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}}};
constexpr double kNvlsHop = 25;
// By generation, the first index of all of these.
constexpr double kNvlsEfficiency[kGpuGenerations] = {0, 0, 0.85, 0.74};

// Of one node, two nodes, more. LL's first index is the generation on one node, and on several 1 for AMD's hosts.
constexpr double kMostLl[kGpuGenerations][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
// Of a channel.
constexpr double kMostRingLl128[kGpuGenerations] = {20, 20, 36.7, 40};
constexpr double kMostTreeLl128[kGpuGenerations][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
constexpr double kMostTree[kGpuGenerations][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};

// Trees are slower than their model for middling sizes: powers of two from 64 B on.
constexpr int kTreeSizes = 23;
constexpr double kTreeCorrection[3][kTreeSizes] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

int FloorLog2(int64_t n) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) - 1; }

int Rounds(CollectiveKind collective, int members) {
  return collective == CollectiveKind::kAllReduce ? 2 * (members - 1) : members - 1;
}

double RingHops(CollectiveKind collective, int protocol, const NcclTopology& topology) {
  double inside = kHop[topology.nvlink ? kNvlinkHop : kPciHop][1][protocol];
  if (topology.nodes == 1) return Rounds(collective, topology.ranks) * inside;
  // A ring over nodes posts to the network in every round, thrice of Simple.
  const double posting = (topology.amd_hosts ? 2.0 : 1.0) * (protocol == 2 ? 3 : 1);
  inside = std::max(inside, posting);
  const bool alone = topology.ranks == topology.nodes;  // in its node: the latency is hidden by nothing
  const double outside = kHop[kNetworkHop][alone ? 0 : 1][protocol];
  const int crossings = Rounds(collective, topology.nodes);
  return (Rounds(collective, topology.ranks) - crossings) * inside + crossings * outside;
}

double TreeHops(int protocol, const NcclTopology& topology) {
  const double inside = kHop[topology.nvlink ? kNvlinkHop : kPciHop][0][protocol];
  return 2 *
         ((topology.ranks / topology.nodes - 1) * inside + FloorLog2(topology.nodes) * kHop[kNetworkHop][0][protocol]);
}

// Of the links of all ranks, in GB/s, before it is converted to that of the whole value.
double RingBandwidth(int protocol, double links, const NcclTopology& topology) {
  const int size = std::min(topology.nodes, 3) - 1, generation = static_cast<int>(topology.generation);
  const int hosts = topology.nodes == 1 ? generation : (topology.amd_hosts ? 1 : 0);
  if (protocol == 0) return std::min(kMostLl[hosts][size], links / 2);
  if (protocol == 1) return std::min(links * 0.92, topology.channels * kMostRingLl128[generation]);
  return links;
}

double TreeBandwidth(int protocol, double links, const NcclTopology& topology) {
  const int size = std::min(topology.nodes, 3) - 1, generation = static_cast<int>(topology.generation);
  const int hosts = topology.nodes == 1 ? generation : (topology.amd_hosts ? 1 : 0);
  const double tree = std::min(links * 0.92, topology.channels * kMostTree[generation][size]);
  if (protocol == 0) return std::min(tree / 3.8, kMostLl[hosts][size]);
  if (protocol == 2) return tree;
  return std::min(tree * (topology.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                  topology.channels * kMostTreeLl128[generation][size]);
}

// Of the whole value of S bytes. Each rank sends S bytes to be summed and its part of the sums, S / ranks, to be
// multicast, and receives as much. NCCL's own estimate is 2 (n - 1) / n times the links' speed, which no measurement
// reaches: docs/papers.md 13.2.
double NvlsBandwidth(double links, const NcclTopology& topology) {
  const double efficiency = kNvlsEfficiency[static_cast<int>(topology.generation)];
  const double usable = links * efficiency * (topology.channels - 1) / topology.channels;
  return usable * topology.ranks / (topology.ranks + 1);
}

double LinksOf(const NcclTopology& topology) {
  const double channel = topology.nodes <= 2 ? topology.within_bandwidth : topology.between_bandwidth;
  return topology.channels * channel / kGigabyte;
}

}  // namespace

const char* Name(NcclAlgorithm algorithm) {
  constexpr const char* kNames[] = {"tree", "ring", "nvls"};
  return kNames[static_cast<int>(algorithm)];
}

const char* Name(NcclProtocol protocol) {
  constexpr const char* kNames[] = {"LL", "LL128", "Simple"};
  return kNames[static_cast<int>(protocol)];
}

bool NcclOffers(CollectiveKind collective, NcclAlgorithm algorithm, NcclProtocol protocol,
                const NcclTopology& topology) {
  const bool all_reduce = collective == CollectiveKind::kAllReduce;
  if (!all_reduce && collective != CollectiveKind::kAllGather && collective != CollectiveKind::kReduceScatter)
    return false;
  // LL128 needs NVLink's ordering of stores.
  if (protocol == NcclProtocol::kLl128 && !topology.nvlink) return false;
  if (algorithm == NcclAlgorithm::kRing) return true;
  if (algorithm == NcclAlgorithm::kTree) return all_reduce;
  return all_reduce && protocol == NcclProtocol::kSimple && topology.generation >= GpuGeneration::kHopper &&
         topology.nvlink && topology.nodes == 1 && topology.channels >= 2;
}

double NcclLatency(CollectiveKind collective, NcclAlgorithm algorithm, NcclProtocol protocol,
                   const NcclTopology& topology) {
  CHECK(NcclOffers(collective, algorithm, protocol, topology));
  const int p = static_cast<int>(protocol);
  if (algorithm == NcclAlgorithm::kNvls) return kNvlsHop * kMicrosecond;
  if (algorithm == NcclAlgorithm::kTree) return (kBase[0][p] + TreeHops(p, topology)) * kMicrosecond;
  return (kBase[1][p] + RingHops(collective, p, topology)) * kMicrosecond;
}

double NcclBandwidth(CollectiveKind collective, NcclAlgorithm algorithm, NcclProtocol protocol,
                     const NcclTopology& topology) {
  CHECK(NcclOffers(collective, algorithm, protocol, topology));
  const int p = static_cast<int>(protocol);
  const double links = LinksOf(topology);
  if (algorithm == NcclAlgorithm::kTree) return TreeBandwidth(p, links, topology) / 2 * kGigabyte;
  if (algorithm == NcclAlgorithm::kNvls) return NvlsBandwidth(links, topology) * kGigabyte;
  return RingBandwidth(p, links, topology) * topology.ranks / Rounds(collective, topology.ranks) * kGigabyte;
}

double NcclSeconds(CollectiveKind collective, NcclAlgorithm algorithm, NcclProtocol protocol, int64_t bytes,
                   const NcclTopology& topology) {
  double latency = NcclLatency(collective, algorithm, protocol, topology);
  double bandwidth = NcclBandwidth(collective, algorithm, protocol, topology);
  const bool all_reduce = collective == CollectiveKind::kAllReduce;
  const int size = FloorLog2(bytes >> 6);
  if (algorithm == NcclAlgorithm::kTree && size >= 0 && size < kTreeSizes) {
    bandwidth *= kTreeCorrection[static_cast<int>(protocol)][size];
  }
  const bool plateau = algorithm == NcclAlgorithm::kRing && protocol == NcclProtocol::kSimple && topology.nodes > 1 &&
                       all_reduce && bytes / (int64_t{topology.channels} * topology.ranks) >= 64;
  if (plateau) latency *= topology.generation == GpuGeneration::kVolta ? 1.9 : 1.4;
  return latency + static_cast<double>(bytes) / bandwidth;
}

NcclChoice CheapestNccl(CollectiveKind collective, int64_t bytes, const NcclTopology& topology) {
  if (topology.ranks <= 1) return {};
  NcclChoice best{NcclAlgorithm::kRing, NcclProtocol::kSimple, std::numeric_limits<double>::infinity()};
  for (NcclAlgorithm algorithm : kNcclAlgorithms) {
    for (NcclProtocol protocol : kNcclProtocols) {
      if (!NcclOffers(collective, algorithm, protocol, topology)) continue;
      const double seconds = NcclSeconds(collective, algorithm, protocol, bytes, topology);
      if (seconds < best.seconds) best = {algorithm, protocol, seconds};
    }
  }
  return best;
}

}  // namespace partita
