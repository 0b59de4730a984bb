// Ranks that launch the same: what one does with its blocks of the values, another does with blocks of the same sizes
// that begin elsewhere, in groups of its own. With many ranks most are alike: all replicas of a worker group's rank.
//
//   8 samples over data:4, w replicated      rank 0   x[0:2] w   ->   y[0:2]   all_reduce in data{0,1,2,3}
//   rank 1 is rank 0 displaced               rank 1   x[2:4] w   ->   y[2:4]   all_reduce in data{0,1,2,3}
//
// A graph has far fewer forms (a layout with a shape) than values, so ranks are compared by their blocks of each form.
#ifndef PARTITA_GRAPH_ALIKE_ALIKE_RANKS_H_
#define PARTITA_GRAPH_ALIKE_ALIKE_RANKS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/ir/program.h"

namespace partita {

// From what one rank holds to what another does. Per dimension, what is added to where a box begins; empty: nothing.
struct Displacement {
  std::vector<Shape> values;  // by ValueId of the entry point's graph
  std::vector<Shape> states;  // by place among the states of the program
  std::map<int, int> groups;  // ids in the program: for each group of the one that of the other
};

// A rank, and its block of each form; nullopt: the rank holds none.
struct RankShare {
  int rank = 0;
  std::vector<std::optional<Box>> blocks;
};

// Compares the ranks of one entry point. Borrows its arguments. Thread-compatible.
class AlikeRanks {
 public:
  AlikeRanks(const Program& program, const Graph& entry);

  RankShare ShareOf(int rank) const;

  // Equal for ranks that are alike; others rarely have the same one.
  size_t HashOf(const RankShare& share) const;

  // Whether the one rank does what the other does, displaced. False: they may launch different things. They are alike
  // if
  // - they hold the same values and states, in blocks of the same sizes, which begin elsewhere along the first or the
  //   last dimension at most, and there only where no windows split it: what of a block's place matters to the choice
  //   of a kernel or to a part of a node is what its windows see beyond it;
  // - of every move they hold the same: all members' blocks are displaced as their own, and they stand at the same
  //   place in their groups, unless the move has none that differ (all_reduce, all_gather, reduce_scatter, slice).
  bool Alike(const RankShare& from, const RankShare& to);

  // Nullopt: they are not alike.
  std::optional<Displacement> Between(const RankShare& from, const RankShare& to);

 private:
  struct Form {
    Layout layout;
    Shape shape;
    bool in_graph = false;  // of a value of the entry point; else of a state of the program alone
  };
  // The groups of a move's key, and where the ranks stand in them.
  struct Groups {
    GroupKey key;
    std::vector<std::vector<int>> members;
    std::vector<int> ids;                      // in the program; -1: it communicates nothing
    std::vector<std::pair<int, int>> of_rank;  // group and place in it; -1: the rank has nothing to do with it
    bool uneven = false;                       // a move by it has not as many inputs as outputs
    bool knows_places = false;                 // it matters to a move by it which of the group a rank is
  };
  // What moves do: one for each kind, key and pair of forms.
  using Meeting = std::tuple<MoveKind, int, int, int>;  // kind, place in groups_, forms before and after

  int FormOf(const Value& value, bool in_graph);
  int GroupsOfKey(const GroupKey& key);
  std::optional<std::vector<Shape>> DisplaceForms(const RankShare& from, const RankShare& to) const;
  bool StatesLieAsThere(const RankShare& share) const;
  bool GroupsAlike(const Groups& groups, int from, int to) const;
  bool MeetAlike(const Meeting& meeting, const RankShare& from, const RankShare& to,
                 const std::vector<Shape>& displaced);
  bool BlocksAlike(int form, int groups, int from, int to, const Shape& displaced);
  std::optional<Box> BlockOf(int form, int rank) const;

  const Program& program_;
  const Graph& graph_;
  std::vector<Form> forms_;
  std::map<std::pair<int, Shape>, std::vector<int>> forms_of_;  // by mesh and shape
  std::vector<int> of_value_;                                   // by ValueId: its form
  std::vector<int> of_state_;                                   // by place among the program's: its form there
  std::vector<std::pair<int, int>> own_states_;  // forms in this graph and in the program, of states where they differ
  std::vector<Groups> groups_;
  std::vector<Meeting> meetings_;
  // Of groups that were compared: form, groups, group of the one and of the other, displacement.
  std::map<std::tuple<int, int, int, int, Shape>, bool> compared_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_ALIKE_ALIKE_RANKS_H_
