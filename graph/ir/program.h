// A program: one partitioned graph for all ranks per entry point, over the same states, and the groups of ranks that
// communicate, in the order in which every rank creates its communicators. Ids identify its parts; nothing is looked up
// by name.
#ifndef PARTITA_GRAPH_IR_PROGRAM_H_
#define PARTITA_GRAPH_IR_PROGRAM_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/entry_point.h"
#include "graph/ir/group_key.h"
#include "graph/ir/model.h"

namespace partita {

// Ranks that communicate. Keyed by (key, ranks); one total order.
struct CommunicationGroup {
  GroupKey key;
  std::vector<int> ranks;  // in row-major order of their coordinates on the key's axes; of two meshes ascending
};

struct Program {
  std::vector<Mesh> meshes = {Mesh()};  // of all graphs; the first one has all ranks
  // At least one. The program's states are those of the first one; the others have a subset.
  std::vector<EntryPoint> entries;
  LearningRate learning_rate;              // the schedule by which a training step computes it
  std::vector<CommunicationGroup> groups;  // id = index

  int ranks() const { return meshes[0].size(); }
  const Graph& state_graph() const { return entries.front().graph; }
  // nullptr: there is no such entry point.
  const EntryPoint* Find(std::string_view entry) const;
  // Its index in `entries`. kInvalidArgument: the error lists the entries.
  absl::StatusOr<int> PlaceOf(std::string_view entry) const;
  // The graph of an entry point of the program (CHECKed).
  const Graph& graph(std::string_view entry) const;
  // The id of the group by `key` that `rank` belongs to; -1 if the program has none.
  int GroupOf(const GroupKey& key, int rank) const;
};

// "data{0,2}", "data,model{0,1,2,3}"; between two meshes "rows~grid{0,1,2,3}", with `all` for the first one.
std::string ToString(const CommunicationGroup& group, const std::vector<Mesh>& meshes);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_PROGRAM_H_
