// A program: one partitioned graph for all ranks per entry point, over the same states, and the groups of ranks that
// communicate, in the order in which every rank creates its communicators.
#ifndef PARTITA_GRAPH_PROGRAM_H_
#define PARTITA_GRAPH_PROGRAM_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace partita {

// Ranks that communicate: those that differ only on `axes` of the mesh. Keyed by (axes, ranks); one total order.
struct CommunicationGroup {
  std::vector<int> axes;   // sorted axis indices of the mesh
  std::vector<int> ranks;  // in row-major order of their coordinates on `axes`
};

struct Program {
  Mesh mesh;
  Graph train;
  Graph evaluate;
  std::vector<CommunicationGroup> groups;  // id = index

  // The id of the group over `axes` that `rank` belongs to; -1 if the program has none.
  int GroupOf(const std::vector<int>& axes, int rank) const;
};

// "data{0,2}"
std::string ToString(const CommunicationGroup& group, const Mesh& mesh);

}  // namespace partita

#endif  // PARTITA_GRAPH_PROGRAM_H_
