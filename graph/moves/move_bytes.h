// The bytes of a move, from layouts alone (docs/derivation.md 3): what the communicators must count.
#ifndef PARTITA_GRAPH_MOVES_MOVE_BYTES_H_
#define PARTITA_GRAPH_MOVES_MOVE_BYTES_H_

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/move_kind.h"
#include "graph/moves/plan_move.h"
#include "graph/value/layout.h"

namespace partita {

struct MoveBytes {
  int64_t payload = 0;  // bytes of the group's full buffer
  int64_t wire = 0;     // bytes that leave ranks, summed over the group

  MoveBytes& operator+=(const MoveBytes& other) {
    payload += other.payload;
    wire += other.wire;
    return *this;
  }
  bool operator==(const MoveBytes&) const = default;
};

// Exchanges of boxes move the same bytes in every mode (graph/moves/plan_exchange.h): each rank gets once what it
// lacks. Of one group: `ranks` as Mesh::Group gives them. A group of one moves nothing: what it has are views.
MoveBytes BytesOfMove(MoveKind kind, const Layout& from, const Layout& to, const TensorType& type, const Mesh& mesh,
                      const std::vector<int>& ranks);

// Of a reshard, over all ranks of both meshes.
MoveBytes BytesOfReshard(const Layout& from, const Mesh& from_mesh, const Layout& to, const Mesh& to_mesh,
                         const TensorType& type);

// Of a move node (all operands of a bucket) in the group `ranks`.
MoveBytes BytesOfNode(const Graph& graph, const Node& move, const std::vector<int>& ranks);

// Whether ranks send each other something; else each takes or drops what it has.
bool Communicates(const Graph& graph, const Node& move);

// Wire bytes, summed over all groups, of `steps` from layout `from` on.
int64_t WireBytes(const Layout& from, const std::vector<MoveStep>& steps, const TensorType& type, const Mesh& mesh);

// The same of the moves that lead from one layout to another.
int64_t WireBytes(const Layout& from, const Layout& to, const TensorType& type, const Mesh& mesh);

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_MOVE_BYTES_H_
