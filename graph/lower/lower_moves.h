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
#ifndef PARTITA_GRAPH_LOWER_LOWER_MOVES_H_
#define PARTITA_GRAPH_LOWER_LOWER_MOVES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/move_kind.h"
#include "graph/ir/program.h"
#include "graph/moves/plan_exchange.h"
#include "graph/schedule/box_copy.h"
#include "graph/schedule/local_program.h"
#include "graph/schedule/localize.h"

namespace partita {

// The ranks that meet in a move, as one of them sees it.
struct Meeting {
  int group = -1;         // id in the program; -1: the program has none (an error where a collective is needed)
  std::vector<int> axes;  // of the move's mesh; none between two meshes
  std::vector<int> ranks;
  int self = -1;  // position of this rank; -1: it has nothing to do with the move
};

// Lowers the moves of one entry point for one rank, in the order of its nodes. Borrows its arguments.
class MoveLowering {
 public:
  MoveLowering(const Program& program, const Graph& entry, int rank, const LocalGraph& local,
               const KernelCatalogue& kernels, bool exchange_boxes, LocalProgram& out)
      : program_(program),
        graph_(entry),
        rank_(rank),
        local_(local),
        kernels_(kernels),
        exchange_boxes_(exchange_boxes),
        out_(out) {}

  // Appends the launches of a move node and the tensors of its outputs. kInternal: an unknown axis or group, or
  // layouts that the move does not fit.
  absl::Status Lower(NodeId node);

 private:
  // A move with one operand, seen by all ranks that meet in it.
  struct Move {
    NodeId node = -1;
    ValueId input = kNoValue, output = kNoValue;
    TensorType type;
    const Meeting* meeting = nullptr;
    std::vector<HeldBox> from, to;  // per rank of the group; empty boxes count as nothing

    int self() const { return meeting->self; }
    const HeldBox& own_from() const { return from[meeting->self]; }
    const HeldBox& own_to() const { return to[meeting->self]; }
    // What of a box is not margin.
    HeldBox Inside(const HeldBox& box) const { return Common(box, WholeBox(type.shape)); }
    // What two boxes have in common; margins are never moved.
    HeldBox Overlap(const HeldBox& a, const HeldBox& b) const { return Inside(Common(a, b)); }
    int64_t bytes(int64_t count) const { return count * SizeOf(type.dtype); }
    CollectiveLaunch Collective(CollectiveKind kind) const;
  };
  // The blocks that this rank gives to and gets from each rank of the group.
  struct Exchange {
    std::vector<HeldBox> sent, received;
    bool any = false;  // some rank of the group gives another one something

    CollectiveLaunch Launch(const Move& move) const;
  };
  // Where a rank has a tile while an exchange goes on in rounds: dense, in the tile's order, from this element on.
  struct TilePlace {
    TensorId tensor = -1;
    int64_t first = 0;
  };
  struct RoundBlock {
    int peer = 0;
    TilePlace place;
    int64_t count = 0;
  };

  const Meeting& MeetingOf(const Node& move);
  absl::StatusOr<Move> Describe(NodeId node, const Meeting& meeting);

  absl::Status LowerCollective(MoveKind kind, const Move& move);
  absl::Status AllReduce(const Move& move);
  absl::Status Bucket(NodeId node, const Meeting& meeting);
  absl::Status AllGather(const Move& move);
  absl::Status ReduceScatter(const Move& move);
  absl::Status Broadcast(const Move& move);
  absl::Status SumReduce(const Move& move);
  absl::Status AllToAll(const Move& move);
  absl::Status Reshard(const Move& move);
  absl::Status ExchangeAtOnce(const Move& move, const ExchangePlan& plan);
  absl::Status ExchangeInRounds(const Move& move, const ExchangePlan& plan);  // lower_rounds.cc
  absl::Status HaloExchange(const Move& move);
  absl::Status HaloExchangeAdjoint(const Move& move);
  absl::Status Slice(const Move& move);
  absl::Status ZeroExtend(const Move& move);

  absl::Status Misfit(const Move& move) const;
  std::string Over(const Node& move) const;  // the axes or meshes, for messages
  Reduction ReductionOf(ValueId sum) const;
  TensorId NewOutput(ValueId value);
  TensorId NewTemporary(NodeId node, const std::string& suffix, int64_t bytes);
  LocalLaunch& Append(NodeId node, const std::string& suffix);
  // A copy between two tensors, all boxes of it.
  void AppendCopy(NodeId node, const char* suffix, std::vector<BoxCopy> copies, TensorId from, TensorId to);
  // Puts the output together: a part of the input, and the blocks in `arrived` (-1: they come by themselves). Zero
  // where neither lies.
  void AppendAssembly(const Move& move, const char* suffix, const HeldBox& own, const std::vector<HeldBox>& blocks,
                      TensorId arrived);
  // Every rank gives to every other one what the two have in common, and keeps what it has itself.
  static Exchange ExchangeOfOverlaps(const Move& move);
  // The tensor of what arrived, the blocks one after the other; -1 if nothing did.
  TensorId AppendExchange(const Move& move, const Exchange& exchange);
  // The same into the output, where the blocks belong, as boxes.
  void AppendBoxExchange(const Move& move, const Exchange& exchange);
  // As boxes into a tensor of `output_count` elements (-1: nothing is received).
  void AppendBoxExchange(const Move& move, const Exchange& exchange, TensorId output, std::vector<PlacedBox> places,
                         int64_t output_count);
  absl::Status AppendSumOfParts(const Move& move, const std::vector<HeldBox>& received, TensorId arrived);
  // The collective of a move; -1 tensors: this rank gives or gets nothing. Offsets that are not set are 0.
  LocalLaunch& AppendCollective(NodeId node, CollectiveLaunch collective, TensorId input, TensorId output,
                                const std::string& suffix = "");
  // The input, or a temporary that holds blocks of it one after the other; -1 if they are empty.
  TensorId Packed(const Move& move, const std::vector<HeldBox>& blocks);

  // Places for the tiles that this rank sends of its own: in the input, or packed behind each other.
  void PlaceHeldTiles(const Move& move, const ExchangePlan& plan, std::vector<TilePlace>& places);
  // Places for those that it receives: in the output, or in a temporary.
  void PlaceReceivedTiles(const Move& move, const ExchangePlan& plan, TensorId output, std::vector<TilePlace>& places);
  void AppendRound(const Move& move, const std::vector<TileSend>& round, const std::vector<TilePlace>& places,
                   const std::string& suffix);
  // What this rank sends (`end` is TileSend::from) or receives (to) in a round.
  static std::vector<RoundBlock> BlocksOf(const std::vector<TileSend>& round, int TileSend::*end, int self,
                                          const std::vector<TilePlace>& places);
  static bool AreRun(const std::vector<RoundBlock>& blocks);
  // Where the blocks lie one after the other: where they are, or in a temporary.
  TilePlace JoinedPlace(const Move& move, const std::vector<RoundBlock>& blocks, const std::string& suffix);
  // Copies them from their places to that run (`pack`) or from it; nothing if they are there.
  void AppendRoundCopy(const Move& move, const std::vector<RoundBlock>& blocks, TilePlace run, bool pack,
                       const std::string& suffix);
  // What is kept, and what did not arrive in the output; zeros in margins.
  void AppendRest(const Move& move, const ExchangePlan& plan, TensorId output, const std::vector<TilePlace>& places);

  const Program& program_;
  const Graph& graph_;
  int rank_;
  const LocalGraph& local_;
  const KernelCatalogue& kernels_;
  bool exchange_boxes_;
  LocalProgram& out_;
  std::map<GroupKey, Meeting> meetings_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_LOWER_MOVES_H_
