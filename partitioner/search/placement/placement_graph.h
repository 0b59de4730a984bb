// The model for placing ops on the devices of a worker group: a graph of ops, each run whole by one device, and of
// values, each carried by one transfer if its two ends lie on different devices.
#ifndef PARTITA_PARTITIONER_SEARCH_PLACEMENT_PLACEMENT_GRAPH_H_
#define PARTITA_PARTITIONER_SEARCH_PLACEMENT_PLACEMENT_GRAPH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace partita {

struct PlacedOp {
  std::string op;
  double seconds = 0;
  double bytes = 0;
  int together = -1;  // ops of one number lie on one device; -1: anywhere
};

struct PlacedEdge {
  int from = 0;
  int to = 0;
  double seconds = 0;  // from device to device; a link carries one transfer at a time in each direction
  // Edges of one number, with equal seconds, are one transfer where they lead from one device to another: of a value
  // that several ops read, or, on the way back, of the sum of what they give. -1: a transfer of its own.
  int value = -1;
};

// Ops stand after those that they read.
struct PlacementGraph {
  std::vector<PlacedOp> ops;
  std::vector<PlacedEdge> edges;
};

// By op. Equal devices, numbered as they come into use.
struct OpPlacement {
  std::vector<int> device;
  std::vector<double> start;
};

// Names the op or edge that is wrong.
absl::Status CheckPlacementGraph(const PlacementGraph& graph);

// The sum of all ops: what one device takes.
double SerialSeconds(const PlacementGraph& graph);

// What the fullest of `devices` holds.
double FullestBytes(const PlacementGraph& graph, const std::vector<int>& device, int devices);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PLACEMENT_PLACEMENT_GRAPH_H_
