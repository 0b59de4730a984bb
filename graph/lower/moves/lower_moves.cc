#include "graph/lower/moves/lower_moves.h"

#include <algorithm>
#include <numeric>

#include "graph/ir/op_definition.h"
#include "graph/moves/move_bytes.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

int64_t Sum(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

// Positions of those that hold anything.
std::vector<int> Holders(const std::vector<HeldBox>& boxes) {
  std::vector<int> holders;
  for (size_t r = 0; r < boxes.size(); ++r) {
    if (boxes[r]) holders.push_back(static_cast<int>(r));
  }
  return holders;
}

// Where a bucket's members begin. Those whose bytes are a multiple of 16 come first, so that each of them begins at one
// too: at other addresses matrix products and convolutions that write a gradient have no fast kernels. No padding,
// which would be sent as well; ranks that meet hold equal members, so all have the same order.
std::vector<int64_t> PlacesInBucket(const std::vector<int64_t>& bytes) {
  constexpr int64_t kVector = 16;
  std::vector<int64_t> places(bytes.size());
  int64_t end = 0;
  for (const bool multiples : {true, false}) {
    for (size_t m = 0; m < bytes.size(); ++m) {
      if ((bytes[m] % kVector == 0) != multiples) continue;
      places[m] = end;
      end += bytes[m];
    }
  }
  return places;
}

bool AllAre(const HeldBox& box, const std::vector<HeldBox>& boxes) {
  return std::all_of(boxes.begin(), boxes.end(), [&](const HeldBox& other) { return other == box; });
}

// Sums and maxima do not mix: any axis tells.
Reduction ReductionOf(const Layout& sum) {
  for (const AxisLayout& axis : sum) {
    if (axis.partial()) return axis.reduction;
  }
  return Reduction::kSum;
}

}  // namespace

const MoveMeeting& MoveLowering::MeetingOf(const Node& move) {
  const GroupKey key = KeyOf(graph_, move);
  auto [found, inserted] = meetings_.try_emplace(key);
  MoveMeeting& meeting = found->second;
  if (!inserted) return meeting;
  meeting.axes = key.axes;
  const Mesh& mesh = graph_.meshes()[key.mesh];
  if (key.between()) {
    meeting.ranks = RanksOfBoth(mesh, graph_.meshes()[key.other]);
  } else if (mesh.Has(rank_)) {
    meeting.ranks = mesh.Group(rank_, key.axes);
  }
  const auto self = std::find(meeting.ranks.begin(), meeting.ranks.end(), rank_);
  if (self == meeting.ranks.end()) return meeting;
  meeting.self = static_cast<int>(self - meeting.ranks.begin());
  meeting.group = program_.GroupOf(key, rank_);
  return meeting;
}

absl::StatusOr<HeldMove> MoveLowering::Describe(NodeId id, const MoveMeeting& meeting) {
  const Node& node = graph_.node(id);
  if (node.inputs.size() != 1 || node.outputs.size() != 1) {
    return Internal("move '{}' ({}) takes one value, not {}", graph_.name(id), node.op->name, node.inputs.size());
  }
  const Value& input = graph_.value(node.inputs[0]);
  const Value& output = graph_.value(node.outputs[0]);
  HeldMove move{id, node.inputs[0], node.outputs[0], input.type, &meeting, {}, {}};
  if (input.type != output.type) return launches_.Misfit(move);
  for (int rank : meeting.ranks) {
    move.from.push_back(Held(LocalBox(input.layout, input.type.shape, graph_.mesh(input.layout), rank)));
    move.to.push_back(Held(LocalBox(output.layout, output.type.shape, graph_.mesh(output.layout), rank)));
  }
  return move;
}

absl::Status MoveLowering::Lower(NodeId id) {
  const Node& node = graph_.node(id);
  const MoveKind kind = *node.op->move;
  const MoveMeeting& meeting = MeetingOf(node);
  if (meeting.self < 0) return absl::OkStatus();
  if (kind == MoveKind::kAllReduce && node.inputs.size() > 1) return Bucket(id, meeting);
  ASSIGN_OR_RETURN(const HeldMove move, Describe(id, meeting));
  if (kind == MoveKind::kReshard) return Reshard(move);
  if (kind == MoveKind::kZeroExtend) return ZeroExtend(move);
  const bool sums = AddsPartials(kind);
  for (int axis : meeting.axes) {
    const bool alone = graph_.mesh(move.input).axes[axis].size == 1;
    if (!alone && graph_.layout(move.input)[axis].partial() != sums) return launches_.Misfit(move);
  }
  const bool view = kind == MoveKind::kDrop || (move.from == move.to && (!sums || move.from.size() == 1));
  if (view) {
    if (move.own_to() && move.own_to() != move.own_from()) return launches_.Misfit(move);
    if (move.own_to()) launches_.MakeView(move);
    return absl::OkStatus();
  }
  if (kind == MoveKind::kSlice) return Slice(move);
  if (move.meeting->group < 0) {
    return Internal("move '{}': the program has no group over '{}' for rank {}", graph_.name(id), launches_.Over(node),
                    rank_);
  }
  return LowerCollective(kind, move);
}

absl::Status MoveLowering::LowerCollective(MoveKind kind, const HeldMove& move) {
  switch (kind) {
    case MoveKind::kAllReduce:
      return AllReduce(move);
    case MoveKind::kAllGather:
      return AllGather(move);
    case MoveKind::kReduceScatter:
      return ReduceScatter(move);
    case MoveKind::kBroadcast:
      return Broadcast(move);
    case MoveKind::kSumReduce:
      return SumReduce(move);
    case MoveKind::kHalo:
      return exchanges_.HaloExchange(move);
    case MoveKind::kHaloAdjoint:
      return exchanges_.HaloExchangeAdjoint(move);
    case MoveKind::kSend:
    case MoveKind::kGather:
    case MoveKind::kScatter:
    case MoveKind::kRepartition:
      return exchanges_.AllToAll(move);
    case MoveKind::kSlice:
    case MoveKind::kDrop:
    case MoveKind::kZeroExtend:
    case MoveKind::kReshard:
      break;  // lowered by Lower
  }
  return Internal("node '{}': no collective makes the move", graph_.name(move.node));
}

absl::Status MoveLowering::AllReduce(const HeldMove& move) {
  if (move.from != move.to) return launches_.Misfit(move);
  if (!move.own_from()) return absl::OkStatus();
  const TensorId input = launches_.Of(move.input);
  const TensorId output = launches_.NewOutput(move.output);
  CollectiveLaunch collective = move.Collective(CollectiveKind::kAllReduce);
  collective.reduction = ReductionOf(graph_.layout(move.input));
  collective.input_count = collective.output_count = Count(move.own_from());
  launches_.AppendCollective(move.node, collective, input, output).in_place.push_back({input, output});
  return absl::OkStatus();
}

absl::Status MoveLowering::Bucket(NodeId id, const MoveMeeting& meeting) {
  const Node& node = graph_.node(id);
  if (node.inputs.size() != node.outputs.size()) return Internal("bucket '{}' loses members", graph_.name(id));
  CollectiveLaunch collective;
  collective.group = meeting.group;
  collective.dtype = graph_.type(node.inputs[0]).dtype;
  collective.reduction = ReductionOf(graph_.layout(node.inputs[0]));
  const TensorId bucket = out_.AddTensor({0, MemoryKind::kActivation, graph_.name(id), -1, 0});
  std::vector<int64_t> sizes;
  for (const ValueId input : node.inputs) sizes.push_back(local_.Holds(input) ? local_.values[input]->bytes() : 0);
  const std::vector<int64_t> places = PlacesInBucket(sizes);
  LocalCopies copies;
  int64_t bytes = 0;
  for (size_t m = 0; m < node.inputs.size(); ++m) {
    const ValueId input = node.inputs[m];
    const ValueId output = node.outputs[m];
    if (graph_.type(input) != graph_.type(output) || graph_.type(input).dtype != collective.dtype ||
        ReductionOf(graph_.layout(input)) != collective.reduction) {
      return Internal("bucket '{}': member '{}' differs in dtype, shape or reduction", graph_.name(id),
                      graph_.value(input).name);
    }
    if (!local_.Holds(input)) continue;
    if (meeting.ranks.size() == 1) {
      out_.tensor_of[output] = out_.tensor_of[input];
      continue;
    }
    const Box flat = WholeBox({local_.values[input]->elements()});
    const TensorId summand = out_.tensor_of[input];
    copies.copies.push_back({CopyOf(flat, flat, flat, collective.dtype), summand, bucket, /*keeps=*/true});
    copies.copies.back().boxes.to = places[m];
    const TensorId sum = launches_.NewOutput(output);
    out_.tensors[sum].inside = bucket;
    out_.tensors[sum].offset = places[m];
    collective.members.push_back({summand, sum, places[m], sizes[m]});
    bytes += sizes[m];
  }
  out_.tensors[bucket].bytes = bytes;
  if (bytes == 0) return absl::OkStatus();
  if (meeting.group < 0) return Internal("bucket '{}': the program has no such group", graph_.name(id));
  LocalLaunch& pack = launches_.Append(id, "/pack");
  pack.work = std::move(copies);
  pack.packs_bucket = true;
  collective.input_count = collective.output_count = bytes / SizeOf(collective.dtype);
  launches_.AppendCollective(id, collective, bucket, bucket);
  return absl::OkStatus();
}

absl::Status MoveLowering::AllGather(const HeldMove& move) {
  if (!move.own_to()) return absl::OkStatus();
  CollectiveLaunch collective = move.Collective(CollectiveKind::kAllGather);
  collective.send_counts = Counts(move.from);
  collective.input_count = Count(move.own_from());
  collective.output_count = Count(move.own_to());
  if (Sum(collective.send_counts) != collective.output_count) return launches_.Misfit(move);
  const TensorId input = launches_.Of(move.input);
  if (FollowEachOther(move.from, *move.own_to())) {
    launches_.AppendCollective(move.node, std::move(collective), input, launches_.NewOutput(move.output));
    return absl::OkStatus();
  }
  const TensorId gathered = launches_.NewTemporary(move.node, "/gathered", move.bytes(collective.output_count));
  launches_.AppendCollective(move.node, std::move(collective), input, gathered);
  launches_.AppendCopy(move.node, "/unpack", UnpackCopies(move.from, *move.own_to(), move.type.dtype), gathered,
                       launches_.NewOutput(move.output));
  return absl::OkStatus();
}

absl::Status MoveLowering::ReduceScatter(const HeldMove& move) {
  if (!move.own_from()) return absl::OkStatus();
  CollectiveLaunch collective = move.Collective(CollectiveKind::kReduceScatter);
  collective.reduction = ReductionOf(graph_.layout(move.input));
  collective.send_counts = Counts(move.to);
  collective.input_count = Count(move.own_from());
  collective.output_count = Count(move.own_to());
  if (Sum(collective.send_counts) != collective.input_count) return launches_.Misfit(move);
  const TensorId input = launches_.Packed(move, move.to);
  launches_.AppendCollective(move.node, std::move(collective), input, launches_.NewOutput(move.output));
  return absl::OkStatus();
}

absl::Status MoveLowering::Broadcast(const HeldMove& move) {
  const std::vector<int> holders = Holders(move.from);
  if (holders.empty() && Holders(move.to).empty()) return absl::OkStatus();
  if (holders.size() != 1 || !AllAre(move.from[holders[0]], move.to)) return launches_.Misfit(move);
  CollectiveLaunch collective = move.Collective(CollectiveKind::kBroadcast);
  collective.root = holders[0];
  collective.input_count = Count(move.own_from());
  collective.output_count = Count(move.own_to());
  const TensorId input = launches_.Of(move.input);
  if (collective.root == move.self()) out_.tensor_of[move.output] = input;
  const TensorId output = collective.root == move.self() ? input : launches_.NewOutput(move.output);
  launches_.AppendCollective(move.node, std::move(collective), input, output);
  return absl::OkStatus();
}

absl::Status MoveLowering::SumReduce(const HeldMove& move) {
  const std::vector<int> holders = Holders(move.to);
  if (holders.empty() && Holders(move.from).empty()) return absl::OkStatus();
  if (holders.size() != 1 || !AllAre(move.to[holders[0]], move.from)) return launches_.Misfit(move);
  CollectiveLaunch collective = move.Collective(CollectiveKind::kReduce);
  collective.reduction = ReductionOf(graph_.layout(move.input));
  collective.root = holders[0];
  collective.input_count = Count(move.own_from());
  collective.output_count = Count(move.own_to());
  const TensorId input = launches_.Of(move.input);
  const TensorId output = launches_.NewOutput(move.output);
  LocalLaunch& launch = launches_.AppendCollective(move.node, std::move(collective), input, output);
  if (output >= 0) launch.in_place.push_back({input, output});
  return absl::OkStatus();
}

absl::Status MoveLowering::Reshard(const HeldMove& move) {
  const bool local = !Communicates(graph_, graph_.node(move.node));
  if (!local && move.meeting->group < 0) {
    return Internal("move '{}': the program has no group between '{}'", graph_.name(move.node),
                    launches_.Over(graph_.node(move.node)));
  }
  if (!local) return exchanges_.AllToAll(move);
  if (move.own_to() != move.own_from()) return Slice(move);
  if (move.own_to()) launches_.MakeView(move);
  return absl::OkStatus();
}

absl::Status MoveLowering::Slice(const HeldMove& move) {
  if (!move.own_to()) return absl::OkStatus();
  const HeldBox part = move.Overlap(move.own_from(), move.own_to());
  if (part != move.Inside(move.own_to())) return launches_.Misfit(move);
  launches_.AppendAssembly(move, "", part, {}, -1);
  return absl::OkStatus();
}

absl::Status MoveLowering::ZeroExtend(const HeldMove& move) {
  if (!move.own_to()) return absl::OkStatus();
  const std::vector<int> coordinates = graph_.mesh(move.input).Coordinates(rank_);
  const std::vector<int>& axes = move.meeting->axes;
  const Layout& layout = graph_.layout(move.input);
  const Layout& sums = graph_.layout(move.output);
  const bool counts = std::all_of(axes.begin(), axes.end(), [&](int axis) {
    return !layout[axis].replicated() || coordinates[axis] == 0 || sums[axis].reduction == Reduction::kMax;
  });
  if (counts && move.own_from() == move.own_to()) {
    launches_.MakeView(move);
    return absl::OkStatus();
  }
  const HeldBox part = counts ? move.Overlap(move.own_from(), move.own_to()) : std::nullopt;
  if (counts && part != move.Inside(move.own_from())) return launches_.Misfit(move);
  launches_.AppendAssembly(move, "", part, {}, -1);
  return absl::OkStatus();
}

}  // namespace partita
