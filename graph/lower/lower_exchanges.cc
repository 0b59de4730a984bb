// The moves that lower to an all-to-all of boxes, or to local copies of them (graph/lower/lower_moves.h).
#include <algorithm>

#include "graph/ir/op_definition.h"
#include "graph/lower/lower_moves.h"
#include "graph/moves/move_bytes.h"
#include "runtime/base/status.h"

namespace partita {

// Two ranks hold either the same box or boxes without a common element, for boxes are products of blocks.
absl::Status MoveLowering::AllToAll(const Move& move) {
  if (TotalCount(move.to) == 0) return absl::OkStatus();
  std::vector<HeldBox> wanted;
  for (const HeldBox& box : move.to) wanted.push_back(move.Inside(box));
  const Attributes& attributes = graph_.node(move.node).attributes;
  const std::optional<ExchangeMode> mode = FindExchangeMode(attributes.String("mode"));
  const int64_t chunks = attributes.Int("chunks");
  if (!mode || chunks < 1 || chunks > kMostChunks) {
    return Internal("move '{}': mode '{}' in {} chunks is no way to exchange", graph_.name(move.node),
                    attributes.String("mode"), chunks);
  }
  const ExchangePlan plan = PlanExchange(move.from, wanted, *mode, static_cast<int>(chunks));
  return *mode == ExchangeMode::kDirect ? ExchangeAtOnce(move, plan) : ExchangeInRounds(move, plan);
}

CollectiveLaunch MoveLowering::Exchange::Launch(const Move& move) const {
  CollectiveLaunch collective = move.Collective(CollectiveKind::kAllToAll);
  collective.send_counts = Counts(sent);
  collective.receive_counts = Counts(received);
  collective.input_count = TotalCount(sent);
  collective.output_count = TotalCount(received);
  return collective;
}

absl::Status MoveLowering::ExchangeAtOnce(const Move& move, const ExchangePlan& plan) {
  Exchange exchange{std::vector<HeldBox>(move.from.size()), std::vector<HeldBox>(move.from.size())};
  const auto take = [&](const TileSend& send) {
    if (send.from == move.self()) exchange.sent[send.to] = plan.tiles[send.tile];
    if (send.to == move.self()) exchange.received[send.from] = plan.tiles[send.tile];
  };
  std::for_each(plan.kept.begin(), plan.kept.end(), take);
  for (const std::vector<TileSend>& round : plan.rounds) std::for_each(round.begin(), round.end(), take);
  if (TotalCount(exchange.received) != Count(move.Inside(move.own_to()))) return Misfit(move);
  const bool margin = move.own_to() != move.Inside(move.own_to());
  if (exchange_boxes_) {
    if (margin) AppendAssembly(move, "/margin", std::nullopt, exchange.received, -1);
    AppendBoxExchange(move, exchange);
  } else if (!move.own_to() || (!margin && FollowEachOther(exchange.received, *move.own_to()))) {
    AppendCollective(move.node, exchange.Launch(move), Packed(move, exchange.sent), NewOutput(move.output));
  } else {
    const TensorId arrived = AppendExchange(move, exchange);
    AppendAssembly(move, "/unpack", std::nullopt, exchange.received, arrived);
  }
  return absl::OkStatus();
}

TensorId MoveLowering::AppendExchange(const Move& move, const Exchange& exchange) {
  const int64_t received = TotalCount(exchange.received);
  const TensorId arrived = received == 0 ? -1 : NewTemporary(move.node, "/received", move.bytes(received));
  if (exchange_boxes_) {
    AppendBoxExchange(move, exchange, arrived, PackedPlaces(exchange.received), received);
  } else {
    AppendCollective(move.node, exchange.Launch(move), Packed(move, exchange.sent), arrived);
  }
  return arrived;
}

void MoveLowering::AppendBoxExchange(const Move& move, const Exchange& exchange, TensorId output,
                                     std::vector<PlacedBox> places, int64_t output_count) {
  CollectiveLaunch collective = exchange.Launch(move);
  collective.send_boxes = PlacesIn(move.own_from(), exchange.sent);
  collective.receive_boxes = std::move(places);
  const TensorId input = collective.input_count == 0 ? -1 : out_.tensor_of[move.input];
  if (input >= 0) collective.input_count = Count(move.own_from());
  if (output >= 0) collective.output_count = output_count;
  AppendCollective(move.node, std::move(collective), input, output);
}

// Of the output there may be a part already.
void MoveLowering::AppendBoxExchange(const Move& move, const Exchange& exchange) {
  TensorId output = -1;
  if (TotalCount(exchange.received) > 0) {
    output = out_.tensor_of[move.output];
    if (output < 0) output = NewOutput(move.output);
  }
  AppendBoxExchange(move, exchange, output, PlacesIn(move.own_to(), exchange.received), Count(move.own_to()));
}

absl::Status MoveLowering::Reshard(const Move& move) {
  const bool local = !Communicates(graph_, graph_.node(move.node));
  if (!local && move.meeting->group < 0) {
    return Internal("move '{}': the program has no group between '{}'", graph_.name(move.node),
                    Over(graph_.node(move.node)));
  }
  if (!local) return AllToAll(move);
  if (move.own_to() != move.own_from()) return Slice(move);
  if (move.own_to()) out_.tensor_of[move.output] = out_.tensor_of[move.input];
  return absl::OkStatus();
}

MoveLowering::Exchange MoveLowering::ExchangeOfOverlaps(const Move& move) {
  const int ranks = static_cast<int>(move.from.size());
  Exchange exchange{std::vector<HeldBox>(move.from.size()), std::vector<HeldBox>(move.from.size())};
  for (int r = 0; r < ranks; ++r) {
    for (int q = 0; q < ranks; ++q) {
      exchange.any = exchange.any || (r != q && Count(move.Overlap(move.from[r], move.to[q])) > 0);
    }
    if (r == move.self()) continue;
    exchange.sent[r] = move.Overlap(move.own_from(), move.to[r]);
    exchange.received[r] = move.Overlap(move.from[r], move.own_to());
  }
  return exchange;
}

absl::Status MoveLowering::HaloExchange(const Move& move) {
  const Exchange exchange = ExchangeOfOverlaps(move);
  const HeldBox own = move.Overlap(move.own_from(), move.own_to());
  if (move.own_to() && Count(own) + TotalCount(exchange.received) != Count(move.Inside(move.own_to()))) {
    return Misfit(move);
  }
  if (exchange_boxes_) {
    // Only ghosts wait for peers: the rest is there already when they come.
    const bool rest = Count(own) > 0 || move.own_to() != move.Inside(move.own_to());
    if (rest) AppendAssembly(move, "/own", own, exchange.received, -1);
    if (exchange.any) AppendBoxExchange(move, exchange);
    return absl::OkStatus();
  }
  const TensorId arrived = exchange.any ? AppendExchange(move, exchange) : -1;
  if (move.own_to()) AppendAssembly(move, "/assemble", own, exchange.received, arrived);
  return absl::OkStatus();
}

absl::Status MoveLowering::HaloExchangeAdjoint(const Move& move) {
  const Exchange exchange = ExchangeOfOverlaps(move);
  const TensorId arrived = exchange.any ? AppendExchange(move, exchange) : -1;
  if (!move.own_to()) return absl::OkStatus();
  if (arrived >= 0) return AppendSumOfParts(move, exchange.received, arrived);
  AppendAssembly(move, "/trim", move.Overlap(move.own_from(), move.own_to()), {}, -1);
  return absl::OkStatus();
}

// The op's kernel, with the parts as inputs that lie in different boxes of the value: the input, then what arrived.
absl::Status MoveLowering::AppendSumOfParts(const Move& move, const std::vector<HeldBox>& received, TensorId arrived) {
  const Node& node = graph_.node(move.node);
  const auto local = [&](const HeldBox& box) { return LocalTensor{move.type.dtype, move.type.shape, *box}; };
  LocalKernel kernel;
  kernel.node = {graph_.name(move.node), node.op, node.attributes, {}, {local(move.own_to())}};
  if (move.Overlap(move.own_from(), move.own_to())) {
    kernel.node.inputs.push_back(local(move.own_from()));
    kernel.inputs.push_back({out_.tensor_of[move.input], 0, move.input});
  }
  int64_t offset = 0;
  for (const HeldBox& part : received) {
    if (!part) continue;
    kernel.node.inputs.push_back(local(part));
    kernel.inputs.push_back({arrived, offset, move.output});
    offset += move.bytes(part->elements());
  }
  kernel.outputs = {{NewOutput(move.output), 0, move.output}};
  ASSIGN_OR_RETURN(kernel.choice, kernels_.Choose(kernel.node));
  kernel.workspace = out_.AddWorkspace(kernel.choice, graph_.name(move.node));
  Append(move.node, "/add").work = std::move(kernel);
  return absl::OkStatus();
}

void MoveLowering::AppendAssembly(const Move& move, const char* suffix, const HeldBox& own,
                                  const std::vector<HeldBox>& blocks, TensorId arrived) {
  const Box& whole = *move.own_to();
  const TensorId output = NewOutput(move.output);
  LocalCopies assembly;
  if (Count(own) + TotalCount(blocks) < whole.elements()) assembly.zeroed = output;
  if (own) {
    assembly.copies.push_back(
        {CopyOf(*own, *move.own_from(), whole, move.type.dtype), out_.tensor_of[move.input], output});
  }
  for (BoxCopy& copy : UnpackCopies(arrived < 0 ? std::vector<HeldBox>{} : blocks, whole, move.type.dtype)) {
    assembly.copies.push_back({std::move(copy), arrived, output});
  }
  Append(move.node, suffix).work = std::move(assembly);
}

absl::Status MoveLowering::Slice(const Move& move) {
  if (!move.own_to()) return absl::OkStatus();
  const HeldBox part = move.Overlap(move.own_from(), move.own_to());
  if (part != move.Inside(move.own_to())) return Misfit(move);
  AppendAssembly(move, "", part, {}, -1);
  return absl::OkStatus();
}

absl::Status MoveLowering::ZeroExtend(const Move& move) {
  if (!move.own_to()) return absl::OkStatus();
  const std::vector<int> coordinates = graph_.mesh(move.input).Coordinates(rank_);
  const std::vector<int>& axes = move.meeting->axes;
  const Layout& layout = graph_.layout(move.input);
  const Layout& sums = graph_.layout(move.output);
  const bool counts = std::all_of(axes.begin(), axes.end(), [&](int axis) {
    return !layout[axis].replicated() || coordinates[axis] == 0 || sums[axis].reduction == Reduction::kMax;
  });
  if (counts && move.own_from() == move.own_to()) {
    out_.tensor_of[move.output] = out_.tensor_of[move.input];
    return absl::OkStatus();
  }
  const HeldBox part = counts ? move.Overlap(move.own_from(), move.own_to()) : std::nullopt;
  if (counts && part != move.Inside(move.own_from())) return Misfit(move);
  AppendAssembly(move, "", part, {}, -1);
  return absl::OkStatus();
}

}  // namespace partita
