// A move as one rank and those that meet it in the move see it: what each of them holds before and after.
#ifndef PARTITA_GRAPH_LOWER_MOVES_HELD_MOVE_H_
#define PARTITA_GRAPH_LOWER_MOVES_HELD_MOVE_H_

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/schedule/box_copy.h"
#include "graph/schedule/schedule.h"

namespace partita {

// The ranks that meet in a move, as one of them sees it.
struct MoveMeeting {
  int group = -1;         // id in the program; -1: the program has none (an error where a collective is needed)
  std::vector<int> axes;  // of the move's mesh; none between two meshes
  std::vector<int> ranks;
  int self = -1;  // position of this rank; -1: it has nothing to do with the move
};

// A move with one operand. Borrows the meeting.
struct HeldMove {
  NodeId node = -1;
  ValueId input = kNoValue, output = kNoValue;
  TensorType type;
  const MoveMeeting* meeting = nullptr;
  std::vector<HeldBox> from, to;  // per rank of the group; empty boxes count as nothing

  int self() const { return meeting->self; }
  const HeldBox& own_from() const { return from[meeting->self]; }
  const HeldBox& own_to() const { return to[meeting->self]; }
  // What of a box is not margin.
  HeldBox Inside(const HeldBox& box) const { return Common(box, WholeBox(type.shape)); }
  // What two boxes have in common; margins are never moved.
  HeldBox Overlap(const HeldBox& a, const HeldBox& b) const { return Inside(Common(a, b)); }
  int64_t bytes(int64_t count) const { return count * SizeOf(type.dtype); }
  // Of the move's group and type, without counts.
  CollectiveLaunch Collective(CollectiveKind kind) const {
    CollectiveLaunch collective;
    collective.kind = kind;
    collective.group = meeting->group;
    collective.dtype = type.dtype;
    return collective;
  }
};

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_MOVES_HELD_MOVE_H_
