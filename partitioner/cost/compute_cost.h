// Estimates how long a device computes: the measured time, else the roofline (docs/papers.md 13.4).
#ifndef PARTITA_PARTITIONER_COST_COMPUTE_COST_H_
#define PARTITA_PARTITIONER_COST_COMPUTE_COST_H_

#include <map>
#include <string>

#include "graph/ir/graph.h"
#include "graph/ir/kernel_catalogue.h"
#include "partitioner/cluster/cluster.h"

namespace partita {

struct KernelWork {
  double flops = 0;
  double bytes = 0;  // read and written
  DType dtype = DType::kF32;
};

// A rank's share of a node. It is in bf16 where one of its inputs is.
KernelWork WorkOf(const LocalNode& node);

// Flops a second. A type that the device has no rate for computes as f32.
double RateOf(const DeviceKind& kind, DType dtype);

// The larger of flops by rate and bytes by speed, and the launch. `sharing`: ranks on the same cores
// (RanksSharingCores).
double RooflineSeconds(const KernelWork& work, const DeviceKind& kind, int sharing = 1);

// Measured times, keyed by the node: "conv2d f32[8,28,28,1] f32[6,5,5,1] -> f32[8,28,28,6] stride=[1,1] ...".
using KernelTimes = std::map<std::string, double>;
std::string SignatureOf(const LocalNode& node);

// As measured where `times` has it, else as many times the roofline as the device's kernels of that op take (op_times).
double ComputeSeconds(const LocalNode& node, const KernelTimes& times, const DeviceKind& kind, int sharing = 1);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_COST_COMPUTE_COST_H_
