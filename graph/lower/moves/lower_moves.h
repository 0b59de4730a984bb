// Moves become what a rank does for them: pack -> one contiguous collective -> unpack, or a local copy, or nothing.
//
//   all_reduce      P -> R               AllReduce in place where possible. Several operands (a bucket): one AllReduce
//                                        over one buffer in which the members lie without padding, those first
//                                        that fill vectors of 16 bytes
//   all_gather      S -> R               AllGather of the ranks' blocks, unpacked unless they follow each other
//   reduce_scatter  P -> S               packed unless the blocks follow each other, ReduceScatter
//   broadcast       At -> R              Broadcast; the root's copy is a view
//   sum_reduce      P -> At              Reduce
//   send gather scatter repartition      AllToAll with the counts of the boxes' intersections, packed and unpacked as
//                                        needed. Of replicated sources a rank takes its own, else that of the one
//                                        that has least to send (graph/moves/plan_exchange.h). In other modes than the
//                                        direct one an AllToAll for each round; what comes is forwarded from where it
//                                        lies, in the output if the tile is one run of it.
//                                        Where ranks reach each other's memory (ScheduleOptions::exchange_boxes)
//                                        nothing is packed or unpacked: an AllToAll of boxes
//   reshard         mesh -> other mesh   the same, among all ranks of both meshes; local copies if all have what they
//                                        need
//   slice_move      R -> S               a local copy
//   halo_exchange   S -> S by windows    AllToAll of the ghosts alone; the own part is copied, margins are zeroed. Only
//                                        trimmed, it is a copy
//   halo_exchange_adjoint                AllToAll of the ghosts back, then the op's kernel adds the parts where
//                                        they lie, the own one first, then in rank order
//   drop            R -> At              a view on the holder
//   zero_extend     S, At or R -> P      zeros and a local copy; of R only the copy of coordinate 0 counts (of a
//                                        maximum all copies do: a view)
// A move that changes nothing on any rank (a group of one) is a view. A collective in which no rank has an element is
// launched by none; else every rank of the group launches it, with counts 0 where it has nothing.
#ifndef PARTITA_GRAPH_LOWER_MOVES_LOWER_MOVES_H_
#define PARTITA_GRAPH_LOWER_MOVES_LOWER_MOVES_H_

#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/ir/move_kind.h"
#include "graph/ir/program.h"
#include "graph/lower/moves/held_move.h"
#include "graph/lower/moves/lower_exchanges.h"
#include "graph/lower/moves/move_launches.h"
#include "graph/schedule/local_program.h"
#include "graph/schedule/localize.h"

namespace partita {

// Lowers the moves of one entry point for one rank, in the order of its nodes. Borrows its arguments.
class MoveLowering {
 public:
  MoveLowering(const Program& program, const Graph& entry, int rank, const LocalGraph& local,
               const KernelCatalogue& kernels, bool exchange_boxes, LocalProgram& out)
      : program_(program),
        graph_(entry),
        rank_(rank),
        local_(local),
        out_(out),
        launches_(entry, local, kernels, out),
        exchanges_(launches_, exchange_boxes) {}

  // Appends the launches of a move node and the tensors of its outputs. kInternal: an unknown axis or group, or
  // layouts that the move does not fit.
  absl::Status Lower(NodeId node);

 private:
  const MoveMeeting& MeetingOf(const Node& move);
  absl::StatusOr<HeldMove> Describe(NodeId node, const MoveMeeting& meeting);

  absl::Status LowerCollective(MoveKind kind, const HeldMove& move);
  absl::Status AllReduce(const HeldMove& move);
  absl::Status Bucket(NodeId node, const MoveMeeting& meeting);
  absl::Status AllGather(const HeldMove& move);
  absl::Status ReduceScatter(const HeldMove& move);
  absl::Status Broadcast(const HeldMove& move);
  absl::Status SumReduce(const HeldMove& move);
  absl::Status Reshard(const HeldMove& move);
  absl::Status Slice(const HeldMove& move);
  absl::Status ZeroExtend(const HeldMove& move);

  const Program& program_;
  const Graph& graph_;
  int rank_;
  const LocalGraph& local_;
  LocalProgram& out_;
  std::map<GroupKey, MoveMeeting> meetings_;
  MoveLaunches launches_;
  ExchangeLowering exchanges_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_MOVES_LOWER_MOVES_H_
