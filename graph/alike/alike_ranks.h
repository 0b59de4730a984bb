// Ranks that launch the same: what one does with its blocks of the values, another does with blocks of the same sizes
// that begin elsewhere, in groups of its own. With many ranks most are alike: all replicas of a worker group's rank.
//
//   8 samples over data:4, w replicated      rank 0   x[0:2] w   ->   y[0:2]   all_reduce in data{0,1,2,3}
//   rank 1 is rank 0 displaced               rank 1   x[2:4] w   ->   y[2:4]   all_reduce in data{0,1,2,3}
#ifndef PARTITA_GRAPH_ALIKE_ALIKE_RANKS_H_
#define PARTITA_GRAPH_ALIKE_ALIKE_RANKS_H_

#include <map>
#include <optional>
#include <vector>

#include "graph/ir/program.h"
#include "graph/schedule/localize.h"

namespace partita {

// From what one rank holds to what another does. Per dimension, what is added to where a box begins; empty: nothing.
struct Displacement {
  std::vector<Shape> values;  // by ValueId of the entry point's graph
  std::vector<Shape> states;  // by place among the states of the program
  std::map<int, int> groups;  // ids in the program: for each group of the one that of the other
};

// A rank, and what it holds of every value.
struct RankShare {
  int rank = 0;
  LocalGraph local;
};

// Finds displacements among the ranks of one entry point. Borrows its arguments.
class AlikeRanks {
 public:
  AlikeRanks(const Program& program, const Graph& entry);

  // Nullopt: they may launch different things. They are alike if
  // - they hold the same values and states, in blocks of the same sizes, which begin elsewhere along the first or the
  //   last dimension at most, and there only where no windows split it: what of a block's place matters to the choice
  //   of a kernel or to a part of a node is what its windows see beyond it;
  // - of every move they hold the same: all members' blocks are displaced as their own, and they stand at the same
  //   place in their groups, unless the move has none that differ (all_reduce, all_gather, reduce_scatter, slice).
  std::optional<Displacement> Between(const RankShare& from, const RankShare& to) const;

 private:
  // A move and its group.
  struct Meeting {
    const Node* node = nullptr;
    int key = 0;  // its place in keys_
  };
  // The groups of both ranks with one key; empty for a rank that takes no part in it.
  struct Groups {
    std::vector<int> from, to;
    int place_from = -1, place_to = -1;  // of the ranks in them
  };

  bool DisplaceValues(const RankShare& from, const RankShare& to, std::vector<Shape>& values) const;
  bool DisplaceStates(const RankShare& from, const RankShare& to, std::vector<Shape>& states) const;
  std::optional<std::vector<Groups>> DisplaceGroups(int from, int to, std::map<int, int>& groups) const;
  std::vector<int> MembersOf(const GroupKey& key, int rank) const;
  bool MeetAlike(const Meeting& meeting, const Groups& groups, const RankShare& from,
                 const std::vector<Shape>& displaced) const;
  bool BlocksAlike(ValueId value, const Groups& groups, const Shape& displaced) const;

  const Program& program_;
  const Graph& graph_;
  std::vector<GroupKey> keys_;
  std::vector<Meeting> meetings_;
  std::vector<ValueId> own_states_;  // by place among the program's: the value of this graph; kNoValue: it has none
};

}  // namespace partita

#endif  // PARTITA_GRAPH_ALIKE_ALIKE_RANKS_H_
