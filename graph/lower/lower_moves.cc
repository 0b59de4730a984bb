#include "graph/lower/lower_moves.h"

#include <algorithm>
#include <numeric>

#include "graph/ir/op_definition.h"
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

}  // namespace

CollectiveLaunch MoveLowering::Move::Collective(CollectiveKind kind) const {
  CollectiveLaunch collective;
  collective.kind = kind;
  collective.group = meeting->group;
  collective.dtype = type.dtype;
  return collective;
}

const Meeting& MoveLowering::MeetingOf(const Node& move) {
  const GroupKey key = KeyOf(graph_, move);
  auto [found, inserted] = meetings_.try_emplace(key);
  Meeting& meeting = found->second;
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

absl::StatusOr<MoveLowering::Move> MoveLowering::Describe(NodeId id, const Meeting& meeting) {
  const Node& node = graph_.node(id);
  if (node.inputs.size() != 1 || node.outputs.size() != 1) {
    return Internal("move '{}' ({}) takes one value, not {}", graph_.name(id), node.op->name, node.inputs.size());
  }
  const Value& input = graph_.value(node.inputs[0]);
  const Value& output = graph_.value(node.outputs[0]);
  Move move{id, node.inputs[0], node.outputs[0], input.type, &meeting, {}, {}};
  if (input.type != output.type) return Misfit(move);
  for (int rank : meeting.ranks) {
    move.from.push_back(Held(LocalBox(input.layout, input.type.shape, graph_.mesh(input.layout), rank)));
    move.to.push_back(Held(LocalBox(output.layout, output.type.shape, graph_.mesh(output.layout), rank)));
  }
  return move;
}

absl::Status MoveLowering::Lower(NodeId id) {
  const Node& node = graph_.node(id);
  const MoveKind kind = *node.op->move;
  const Meeting& meeting = MeetingOf(node);
  if (meeting.self < 0) return absl::OkStatus();
  if (kind == MoveKind::kAllReduce && node.inputs.size() > 1) return Bucket(id, meeting);
  ASSIGN_OR_RETURN(const Move move, Describe(id, meeting));
  if (kind == MoveKind::kReshard) return Reshard(move);
  if (kind == MoveKind::kZeroExtend) return ZeroExtend(move);
  const bool sums = AddsPartials(kind);
  for (int axis : meeting.axes) {
    const bool alone = graph_.mesh(move.input).axes[axis].size == 1;
    if (!alone && graph_.layout(move.input)[axis].partial() != sums) return Misfit(move);
  }
  const bool view = kind == MoveKind::kDrop || (move.from == move.to && (!sums || move.from.size() == 1));
  if (view) {
    if (move.own_to() && move.own_to() != move.own_from()) return Misfit(move);
    if (move.own_to()) out_.tensor_of[move.output] = out_.tensor_of[move.input];
    return absl::OkStatus();
  }
  if (kind == MoveKind::kSlice) return Slice(move);
  if (move.meeting->group < 0) {
    return Internal("move '{}': the program has no group over '{}' for rank {}", graph_.name(id), Over(node), rank_);
  }
  return LowerCollective(kind, move);
}

absl::Status MoveLowering::LowerCollective(MoveKind kind, const Move& move) {
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
      return HaloExchange(move);
    case MoveKind::kHaloAdjoint:
      return HaloExchangeAdjoint(move);
    case MoveKind::kSend:
    case MoveKind::kGather:
    case MoveKind::kScatter:
    case MoveKind::kRepartition:
      return AllToAll(move);
    case MoveKind::kSlice:
    case MoveKind::kDrop:
    case MoveKind::kZeroExtend:
    case MoveKind::kReshard:
      break;  // lowered by Lower
  }
  return Internal("node '{}': no collective makes the move", graph_.name(move.node));
}

absl::Status MoveLowering::AllReduce(const Move& move) {
  if (move.from != move.to) return Misfit(move);
  if (!move.own_from()) return absl::OkStatus();
  const TensorId input = out_.tensor_of[move.input];
  const TensorId output = NewOutput(move.output);
  CollectiveLaunch collective = move.Collective(CollectiveKind::kAllReduce);
  collective.reduction = ReductionOf(move.input);
  collective.input_count = collective.output_count = Count(move.own_from());
  AppendCollective(move.node, collective, input, output).in_place.push_back({input, output});
  return absl::OkStatus();
}

absl::Status MoveLowering::Bucket(NodeId id, const Meeting& meeting) {
  const Node& node = graph_.node(id);
  if (node.inputs.size() != node.outputs.size()) return Internal("bucket '{}' loses members", graph_.name(id));
  CollectiveLaunch collective;
  collective.group = meeting.group;
  collective.dtype = graph_.type(node.inputs[0]).dtype;
  collective.reduction = ReductionOf(node.inputs[0]);
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
        ReductionOf(input) != collective.reduction) {
      return Internal("bucket '{}': member '{}' differs in dtype, shape or reduction", graph_.name(id),
                      graph_.value(input).name);
    }
    if (!local_.Holds(input)) continue;
    if (meeting.ranks.size() == 1) {
      out_.tensor_of[output] = out_.tensor_of[input];
      continue;
    }
    const Box flat = WholeBox({local_.values[input]->elements()});
    copies.copies.push_back({CopyOf(flat, flat, flat, collective.dtype), out_.tensor_of[input], bucket});
    copies.copies.back().boxes.to = places[m];
    const TensorId member = NewOutput(output);
    out_.tensors[member].inside = bucket;
    out_.tensors[member].offset = places[m];
    bytes += sizes[m];
  }
  out_.tensors[bucket].bytes = bytes;
  if (bytes == 0) return absl::OkStatus();
  if (meeting.group < 0) return Internal("bucket '{}': the program has no such group", graph_.name(id));
  LocalLaunch& pack = Append(id, "/pack");
  pack.work = std::move(copies);
  pack.packs_bucket = true;
  collective.input_count = collective.output_count = bytes / SizeOf(collective.dtype);
  AppendCollective(id, collective, bucket, bucket);
  return absl::OkStatus();
}

absl::Status MoveLowering::AllGather(const Move& move) {
  if (!move.own_to()) return absl::OkStatus();
  CollectiveLaunch collective = move.Collective(CollectiveKind::kAllGather);
  collective.send_counts = Counts(move.from);
  collective.input_count = Count(move.own_from());
  collective.output_count = Count(move.own_to());
  if (Sum(collective.send_counts) != collective.output_count) return Misfit(move);
  const TensorId input = out_.tensor_of[move.input];
  if (FollowEachOther(move.from, *move.own_to())) {
    AppendCollective(move.node, std::move(collective), input, NewOutput(move.output));
    return absl::OkStatus();
  }
  const TensorId gathered = NewTemporary(move.node, "/gathered", move.bytes(collective.output_count));
  AppendCollective(move.node, std::move(collective), input, gathered);
  AppendCopy(move.node, "/unpack", UnpackCopies(move.from, *move.own_to(), move.type.dtype), gathered,
             NewOutput(move.output));
  return absl::OkStatus();
}

absl::Status MoveLowering::ReduceScatter(const Move& move) {
  if (!move.own_from()) return absl::OkStatus();
  CollectiveLaunch collective = move.Collective(CollectiveKind::kReduceScatter);
  collective.reduction = ReductionOf(move.input);
  collective.send_counts = Counts(move.to);
  collective.input_count = Count(move.own_from());
  collective.output_count = Count(move.own_to());
  if (Sum(collective.send_counts) != collective.input_count) return Misfit(move);
  const TensorId input = Packed(move, move.to);
  AppendCollective(move.node, std::move(collective), input, NewOutput(move.output));
  return absl::OkStatus();
}

absl::Status MoveLowering::Broadcast(const Move& move) {
  const std::vector<int> holders = Holders(move.from);
  if (holders.empty() && Holders(move.to).empty()) return absl::OkStatus();
  if (holders.size() != 1 || !AllAre(move.from[holders[0]], move.to)) return Misfit(move);
  CollectiveLaunch collective = move.Collective(CollectiveKind::kBroadcast);
  collective.root = holders[0];
  collective.input_count = Count(move.own_from());
  collective.output_count = Count(move.own_to());
  const TensorId input = out_.tensor_of[move.input];
  if (collective.root == move.self()) out_.tensor_of[move.output] = input;
  const TensorId output = collective.root == move.self() ? input : NewOutput(move.output);
  AppendCollective(move.node, std::move(collective), input, output);
  return absl::OkStatus();
}

absl::Status MoveLowering::SumReduce(const Move& move) {
  const std::vector<int> holders = Holders(move.to);
  if (holders.empty() && Holders(move.from).empty()) return absl::OkStatus();
  if (holders.size() != 1 || !AllAre(move.to[holders[0]], move.from)) return Misfit(move);
  CollectiveLaunch collective = move.Collective(CollectiveKind::kReduce);
  collective.reduction = ReductionOf(move.input);
  collective.root = holders[0];
  collective.input_count = Count(move.own_from());
  collective.output_count = Count(move.own_to());
  const TensorId input = out_.tensor_of[move.input];
  const TensorId output = NewOutput(move.output);
  LocalLaunch& launch = AppendCollective(move.node, std::move(collective), input, output);
  if (output >= 0) launch.in_place.push_back({input, output});
  return absl::OkStatus();
}

absl::Status MoveLowering::Misfit(const Move& move) const {
  const Value& input = graph_.value(move.input);
  const Value& output = graph_.value(move.output);
  return Internal("move '{}': {} over '{}' does not lead from {}{} {} to {}{} {}", output.name,
                  graph_.node(move.node).op->name, Over(graph_.node(move.node)), Name(input.type.dtype),
                  ToString(input.type.shape), ToString(input.layout, graph_.mesh(input.layout)),
                  Name(output.type.dtype), ToString(output.type.shape),
                  ToString(output.layout, graph_.mesh(output.layout)));
}

std::string MoveLowering::Over(const Node& move) const {
  return fmt::format("{}", fmt::join(NamesOf(KeyOf(graph_, move), graph_.meshes()), ","));
}

// Sums and maxima do not mix: any axis tells.
Reduction MoveLowering::ReductionOf(ValueId sum) const {
  for (const AxisLayout& axis : graph_.layout(sum)) {
    if (axis.partial()) return axis.reduction;
  }
  return Reduction::kSum;
}

TensorId MoveLowering::NewOutput(ValueId value) {
  if (!local_.Holds(value)) return -1;
  const TensorId tensor =
      out_.AddTensor({local_.values[value]->bytes(), MemoryKind::kActivation, graph_.value(value).name, -1, 0});
  out_.tensor_of[value] = tensor;
  return tensor;
}

TensorId MoveLowering::NewTemporary(NodeId node, const std::string& suffix, int64_t bytes) {
  return out_.AddTensor({bytes, MemoryKind::kWorkspace, graph_.name(node) + suffix, -1, 0});
}

LocalLaunch& MoveLowering::Append(NodeId node, const std::string& suffix) {
  LocalLaunch& launch = out_.launches.emplace_back();
  launch.name = graph_.name(node) + suffix;
  launch.node = node;
  launch.phase = graph_.node(node).phase;
  return launch;
}

void MoveLowering::AppendCopy(NodeId node, const char* suffix, std::vector<BoxCopy> copies, TensorId from,
                              TensorId to) {
  LocalCopies work;
  work.copies.reserve(copies.size());
  for (BoxCopy& boxes : copies) work.copies.push_back({std::move(boxes), from, to});
  Append(node, suffix).work = std::move(work);
}

LocalLaunch& MoveLowering::AppendCollective(NodeId node, CollectiveLaunch collective, TensorId input, TensorId output,
                                            const std::string& suffix) {
  LocalLaunch& launch = Append(node, suffix);
  if (input != kNoTensor) collective.input = std::max<int64_t>(collective.input, 0);
  if (output != kNoTensor) collective.output = std::max<int64_t>(collective.output, 0);
  launch.work = LocalCollective{std::move(collective), input, output};
  return launch;
}

TensorId MoveLowering::Packed(const Move& move, const std::vector<HeldBox>& blocks) {
  if (TotalCount(blocks) == 0) return -1;
  const Box& whole = *move.own_from();
  const TensorId from = out_.tensor_of[move.input];
  if (FollowEachOther(blocks, whole)) return from;
  const TensorId packed = NewTemporary(move.node, "/packed", move.bytes(TotalCount(blocks)));
  AppendCopy(move.node, "/pack", PackCopies(blocks, whole, move.type.dtype), from, packed);
  return packed;
}

}  // namespace partita
