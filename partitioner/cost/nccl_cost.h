// NCCL's own estimate of the time of a collective: the model by which it chooses an algorithm and a protocol, with the
// constants of version 2.28, and of 2.30 for Blackwell (src/graph/tuning.cc; docs/papers.md 13.2). For NVLS, whose
// model is too optimistic, the bytes on the links decide.
#ifndef PARTITA_PARTITIONER_COST_NCCL_COST_H_
#define PARTITA_PARTITIONER_COST_NCCL_COST_H_

#include <cstdint>
#include <vector>

#include "partitioner/cost/collective_cost.h"

namespace partita {

enum class NcclAlgorithm : uint8_t { kTree, kRing, kNvls };
enum class NcclProtocol : uint8_t { kLl, kLl128, kSimple };
enum class GpuGeneration : uint8_t { kVolta, kAmpere, kHopper, kBlackwell };
inline constexpr int kGpuGenerations = 4;
inline constexpr NcclAlgorithm kNcclAlgorithms[] = {NcclAlgorithm::kTree, NcclAlgorithm::kRing, NcclAlgorithm::kNvls};
inline constexpr NcclProtocol kNcclProtocols[] = {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple};
const char* Name(NcclAlgorithm algorithm);
const char* Name(NcclProtocol protocol);

// What NCCL has found out of the machines. Ranks are spread evenly over the nodes.
struct NcclTopology {
  int ranks = 2;
  int nodes = 1;
  bool nvlink = true;  // within a node; else PCI
  GpuGeneration generation = GpuGeneration::kHopper;
  bool amd_hosts = false;                              // else Intel's
  int channels = 1;                                    // rings or trees at once
  double within_bandwidth = 0, between_bandwidth = 0;  // of a channel, in bytes per second; between: among nodes
};

// Seconds until the last byte, had there been none. `collective`: kAllReduce, or of rings also kAllGather and
// kReduceScatter (CHECKed); of a ring or tree, kNvls: kAllReduce on one node. The pairs that NCCL does not have (Ll of
// kNvls, say) are not NcclOffers.
double NcclLatency(CollectiveKind collective, NcclAlgorithm algorithm, NcclProtocol protocol,
                   const NcclTopology& topology);

// Bytes per second of the whole value.
double NcclBandwidth(CollectiveKind collective, NcclAlgorithm algorithm, NcclProtocol protocol,
                     const NcclTopology& topology);

bool NcclOffers(CollectiveKind collective, NcclAlgorithm algorithm, NcclProtocol protocol,
                const NcclTopology& topology);

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  double seconds = 0;
};

// By one pair; NcclOffers it.
double NcclSeconds(CollectiveKind collective, NcclAlgorithm algorithm, NcclProtocol protocol, int64_t bytes,
                   const NcclTopology& topology);

// The quickest pair, which is what NCCL takes. One rank: no time.
NcclChoice CheapestNccl(CollectiveKind collective, int64_t bytes, const NcclTopology& topology);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_COST_NCCL_COST_H_
