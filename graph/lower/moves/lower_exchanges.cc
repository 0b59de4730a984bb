#include "graph/lower/moves/lower_exchanges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/ir/op_definition.h"
#include "graph/lower/moves/lower_rounds.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Every rank gives to every other one what the two have in common, and keeps what it has itself.
ExchangedBoxes OverlapsOf(const HeldMove& move) {
  const int ranks = static_cast<int>(move.from.size());
  ExchangedBoxes exchange{std::vector<HeldBox>(move.from.size()), std::vector<HeldBox>(move.from.size())};
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

}  // namespace

CollectiveLaunch ExchangedBoxes::Launch(const HeldMove& move) const {
  CollectiveLaunch collective = move.Collective(CollectiveKind::kAllToAll);
  collective.send_counts = Counts(sent);
  collective.receive_counts = Counts(received);
  collective.input_count = TotalCount(sent);
  collective.output_count = TotalCount(received);
  return collective;
}

// Two ranks hold either the same box or boxes without a common element, for boxes are products of blocks.
absl::Status ExchangeLowering::AllToAll(const HeldMove& move) {
  if (TotalCount(move.to) == 0) return absl::OkStatus();
  std::vector<HeldBox> wanted;
  for (const HeldBox& box : move.to) wanted.push_back(move.Inside(box));
  const Attributes& attributes = launches_.graph().node(move.node).attributes;
  const std::optional<ExchangeMode> mode = FindExchangeMode(attributes.String("mode"));
  const int64_t chunks = attributes.Int("chunks");
  if (!mode || chunks < 1 || chunks > kMostChunks) {
    return Internal("move '{}': mode '{}' in {} chunks is no way to exchange", launches_.graph().name(move.node),
                    attributes.String("mode"), chunks);
  }
  const ExchangePlan plan = PlanExchange(move.from, wanted, *mode, static_cast<int>(chunks));
  return *mode == ExchangeMode::kDirect ? AtOnce(move, plan) : LowerInRounds(launches_, move, plan);
}

absl::Status ExchangeLowering::AtOnce(const HeldMove& move, const ExchangePlan& plan) {
  ExchangedBoxes exchange{std::vector<HeldBox>(move.from.size()), std::vector<HeldBox>(move.from.size())};
  const auto take = [&](const TileSend& send) {
    if (send.from == move.self()) exchange.sent[send.to] = plan.tiles[send.tile];
    if (send.to == move.self()) exchange.received[send.from] = plan.tiles[send.tile];
  };
  std::for_each(plan.kept.begin(), plan.kept.end(), take);
  for (const std::vector<TileSend>& round : plan.rounds) std::for_each(round.begin(), round.end(), take);
  if (TotalCount(exchange.received) != Count(move.Inside(move.own_to()))) return launches_.Misfit(move);
  const bool margin = move.own_to() != move.Inside(move.own_to());
  if (exchange_boxes_) {
    if (margin) launches_.AppendAssembly(move, "/margin", std::nullopt, exchange.received, -1);
    AppendBoxExchange(move, exchange);
  } else if (!move.own_to() || (!margin && FollowEachOther(exchange.received, *move.own_to()))) {
    launches_.AppendCollective(move.node, exchange.Launch(move), launches_.Packed(move, exchange.sent),
                               launches_.NewOutput(move.output));
  } else {
    const TensorId arrived = AppendExchange(move, exchange);
    launches_.AppendAssembly(move, "/unpack", std::nullopt, exchange.received, arrived);
  }
  return absl::OkStatus();
}

TensorId ExchangeLowering::AppendExchange(const HeldMove& move, const ExchangedBoxes& exchange) {
  const int64_t received = TotalCount(exchange.received);
  const TensorId arrived = received == 0 ? -1 : launches_.NewTemporary(move.node, "/received", move.bytes(received));
  if (exchange_boxes_) {
    AppendBoxExchange(move, exchange, arrived, PackedPlaces(exchange.received), received);
  } else {
    launches_.AppendCollective(move.node, exchange.Launch(move), launches_.Packed(move, exchange.sent), arrived);
  }
  return arrived;
}

LocalLaunch& ExchangeLowering::AppendBoxExchange(const HeldMove& move, const ExchangedBoxes& exchange, TensorId output,
                                                 std::vector<PlacedBox> places, int64_t output_count) {
  CollectiveLaunch collective = exchange.Launch(move);
  collective.send_boxes = PlacesIn(move.own_from(), exchange.sent);
  collective.receive_boxes = std::move(places);
  const TensorId input = collective.input_count == 0 ? -1 : launches_.Of(move.input);
  if (input >= 0) collective.input_count = Count(move.own_from());
  if (output >= 0) collective.output_count = output_count;
  return launches_.AppendCollective(move.node, std::move(collective), input, output);
}

// Of the output there may be a part already.
LocalLaunch& ExchangeLowering::AppendBoxExchange(const HeldMove& move, const ExchangedBoxes& exchange) {
  TensorId output = -1;
  if (TotalCount(exchange.received) > 0) {
    output = launches_.Of(move.output);
    if (output < 0) output = launches_.NewOutput(move.output);
  }
  return AppendBoxExchange(move, exchange, output, PlacesIn(move.own_to(), exchange.received), Count(move.own_to()));
}

absl::Status ExchangeLowering::HaloExchange(const HeldMove& move) {
  const ExchangedBoxes exchange = OverlapsOf(move);
  const HeldBox own = move.Overlap(move.own_from(), move.own_to());
  if (move.own_to() && Count(own) + TotalCount(exchange.received) != Count(move.Inside(move.own_to()))) {
    return launches_.Misfit(move);
  }
  if (exchange_boxes_) {
    // Only ghosts wait for peers: the rest is there already when they come.
    const bool rest = Count(own) > 0 || move.own_to() != move.Inside(move.own_to());
    if (rest) launches_.AppendAssembly(move, "/own", own, exchange.received, -1);
    if (exchange.any) AppendBoxExchange(move, exchange).brings_ghosts = TotalCount(exchange.received) > 0;
    return absl::OkStatus();
  }
  const TensorId arrived = exchange.any ? AppendExchange(move, exchange) : -1;
  if (move.own_to()) {
    launches_.AppendAssembly(move, "/assemble", own, exchange.received, arrived).brings_ghosts = arrived != kNoTensor;
  }
  return absl::OkStatus();
}

absl::Status ExchangeLowering::HaloExchangeAdjoint(const HeldMove& move) {
  const ExchangedBoxes exchange = OverlapsOf(move);
  const TensorId arrived = exchange.any ? AppendExchange(move, exchange) : -1;
  if (!move.own_to()) return absl::OkStatus();
  if (arrived >= 0) return AppendSumOfParts(move, exchange.received, arrived);
  launches_.AppendAssembly(move, "/trim", move.Overlap(move.own_from(), move.own_to()), {}, -1);
  return absl::OkStatus();
}

// The op's kernel, with the parts as inputs that lie in different boxes of the value: the input, then what arrived.
absl::Status ExchangeLowering::AppendSumOfParts(const HeldMove& move, const std::vector<HeldBox>& received,
                                                TensorId arrived) {
  const Node& node = launches_.graph().node(move.node);
  const auto local = [&](const HeldBox& box) { return LocalTensor{move.type.dtype, move.type.shape, *box}; };
  LocalKernel kernel;
  kernel.node = {launches_.graph().name(move.node), node.op, node.attributes, {}, {local(move.own_to())}};
  if (move.Overlap(move.own_from(), move.own_to())) {
    kernel.node.inputs.push_back(local(move.own_from()));
    kernel.inputs.push_back({launches_.Of(move.input), 0, move.input});
  }
  int64_t offset = 0;
  for (const HeldBox& part : received) {
    if (!part) continue;
    kernel.node.inputs.push_back(local(part));
    kernel.inputs.push_back({arrived, offset, move.output});
    offset += move.bytes(part->elements());
  }
  kernel.outputs = {{launches_.NewOutput(move.output), 0, move.output}};
  return launches_.AppendKernel(move.node, "/add", std::move(kernel));
}

}  // namespace partita
