// Exchanges that go on in rounds: an all-to-all for each, and copies only where blocks do not follow each other.
#include <algorithm>

#include "graph/lower/lower_moves.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

int64_t Arriving(const std::vector<TileSend>& sends, int to) {
  int64_t count = 0;
  for (const TileSend& send : sends) count += send.to == to ? send.count : 0;
  return count;
}

template <typename Blocks>
int64_t CountOf(const Blocks& blocks) {
  int64_t count = 0;
  for (const auto& block : blocks) count += block.count;
  return count;
}

}  // namespace

absl::Status MoveLowering::ExchangeInRounds(const Move& move, const ExchangePlan& plan) {
  int64_t arriving = Arriving(plan.kept, move.self());
  for (const std::vector<TileSend>& round : plan.rounds) arriving += Arriving(round, move.self());
  if (arriving != Count(move.Inside(move.own_to()))) return Misfit(move);
  const TensorId output = NewOutput(move.output);
  std::vector<TilePlace> places(plan.tiles.size());
  PlaceHeldTiles(move, plan, places);
  PlaceReceivedTiles(move, plan, output, places);
  for (size_t r = 0; r < plan.rounds.size(); ++r) {
    AppendRound(move, plan.rounds[r], places, "/round" + std::to_string(r));
  }
  AppendRest(move, plan, output, places);
  return absl::OkStatus();
}

void MoveLowering::PlaceHeldTiles(const Move& move, const ExchangePlan& plan, std::vector<TilePlace>& places) {
  std::vector<bool> sends(plan.tiles.size(), false);
  for (const std::vector<TileSend>& round : plan.rounds) {
    for (const TileSend& send : round) sends[send.tile] = sends[send.tile] || send.from == move.self();
  }
  std::vector<HeldBox> packed;
  std::vector<size_t> packed_tiles;
  for (size_t t = 0; t < plan.tiles.size(); ++t) {
    const Box& tile = plan.tiles[t];
    if (!sends[t] || Common(tile, move.own_from()) != tile) continue;  // else it is forwarded
    if (const std::optional<int64_t> start = RunStart(tile, *move.own_from())) {
      places[t] = {out_.tensor_of[move.input], *start};
    } else {
      packed.push_back(tile);
      packed_tiles.push_back(t);
    }
  }
  if (packed.empty()) return;
  const TensorId held = NewTemporary(move.node, "/held", move.bytes(TotalCount(packed)));
  int64_t next = 0;
  for (const size_t t : packed_tiles) {
    places[t] = {held, next};
    next += plan.tiles[t].elements();
  }
  AppendCopy(move.node, "/hold", PackCopies(packed, *move.own_from(), move.type.dtype), out_.tensor_of[move.input],
             held);
}

void MoveLowering::PlaceReceivedTiles(const Move& move, const ExchangePlan& plan, TensorId output,
                                      std::vector<TilePlace>& places) {
  const bool margin = move.own_to() != move.Inside(move.own_to());
  std::vector<int> elsewhere;
  int64_t next = 0;
  for (const std::vector<TileSend>& round : plan.rounds) {
    for (const TileSend& send : round) {
      if (send.to != move.self() || places[send.tile].tensor >= 0) continue;
      const Box& tile = plan.tiles[send.tile];
      const std::optional<int64_t> start = margin ? std::nullopt : RunStart(tile, *move.own_to());
      places[send.tile] = {output, start.value_or(next)};
      if (start) continue;
      elsewhere.push_back(send.tile);
      next += tile.elements();
    }
  }
  if (elsewhere.empty()) return;
  const TensorId received = NewTemporary(move.node, "/received", move.bytes(next));
  for (const int tile : elsewhere) places[tile].tensor = received;
}

// In the order of `round`: by peer, and within it by tile.
std::vector<MoveLowering::RoundBlock> MoveLowering::BlocksOf(const std::vector<TileSend>& round, int TileSend::*end,
                                                             int self, const std::vector<TilePlace>& places) {
  std::vector<RoundBlock> blocks;
  for (const TileSend& send : round) {
    if (send.*end != self) continue;
    const TilePlace& place = places[send.tile];
    blocks.push_back({send.to == self ? send.from : send.to, {place.tensor, place.first + send.first}, send.count});
  }
  return blocks;
}

bool MoveLowering::AreRun(const std::vector<RoundBlock>& blocks) {
  for (size_t b = 1; b < blocks.size(); ++b) {
    const auto& [peer, place, count] = blocks[b - 1];
    if (blocks[b].place.tensor != place.tensor || blocks[b].place.first != place.first + count) return false;
  }
  return true;
}

void MoveLowering::AppendRound(const Move& move, const std::vector<TileSend>& round,
                               const std::vector<TilePlace>& places, const std::string& suffix) {
  const std::vector<RoundBlock> sent = BlocksOf(round, &TileSend::from, move.self(), places);
  const std::vector<RoundBlock> received = BlocksOf(round, &TileSend::to, move.self(), places);
  CollectiveLaunch collective = move.Collective(CollectiveKind::kAllToAll);
  collective.send_counts.assign(move.from.size(), 0);
  collective.receive_counts.assign(move.from.size(), 0);
  for (const RoundBlock& block : sent) collective.send_counts[block.peer] += block.count;
  for (const RoundBlock& block : received) collective.receive_counts[block.peer] += block.count;
  collective.input_count = CountOf(sent);
  collective.output_count = CountOf(received);
  const TilePlace input = JoinedPlace(move, sent, suffix + "/packed");
  const TilePlace output = JoinedPlace(move, received, suffix + "/received");
  AppendRoundCopy(move, sent, input, true, suffix + "/pack");
  collective.input = input.tensor < 0 ? -1 : move.bytes(input.first);
  collective.output = output.tensor < 0 ? -1 : move.bytes(output.first);
  AppendCollective(move.node, std::move(collective), input.tensor, output.tensor, suffix);
  AppendRoundCopy(move, received, output, false, suffix + "/unpack");
}

MoveLowering::TilePlace MoveLowering::JoinedPlace(const Move& move, const std::vector<RoundBlock>& blocks,
                                                  const std::string& suffix) {
  if (blocks.empty()) return {};
  if (AreRun(blocks)) return blocks.front().place;
  return {NewTemporary(move.node, suffix, move.bytes(CountOf(blocks))), 0};
}

void MoveLowering::AppendRoundCopy(const Move& move, const std::vector<RoundBlock>& blocks, TilePlace run, bool pack,
                                   const std::string& suffix) {
  if (blocks.empty() || (run.tensor == blocks.front().place.tensor)) return;
  LocalCopies work;
  for (const RoundBlock& block : blocks) {
    const Box flat = WholeBox({block.count});
    const TilePlace& from = pack ? block.place : run;
    const TilePlace& to = pack ? run : block.place;
    work.copies.push_back({CopyOf(flat, flat, flat, move.type.dtype), from.tensor, to.tensor});
    work.copies.back().boxes.from = move.bytes(from.first);
    work.copies.back().boxes.to = move.bytes(to.first);
    run.first += block.count;
  }
  Append(move.node, suffix).work = std::move(work);
}

void MoveLowering::AppendRest(const Move& move, const ExchangePlan& plan, TensorId output,
                              const std::vector<TilePlace>& places) {
  if (!move.own_to()) return;
  LocalCopies work;
  if (move.own_to() != move.Inside(move.own_to())) work.zeroed = output;
  for (const TileSend& kept : plan.kept) {
    if (kept.to != move.self()) continue;
    work.copies.push_back({CopyOf(plan.tiles[kept.tile], *move.own_from(), *move.own_to(), move.type.dtype),
                           out_.tensor_of[move.input], output});
  }
  for (size_t t = 0; t < plan.tiles.size(); ++t) {
    const Box& tile = plan.tiles[t];
    const bool arrived = Common(tile, move.own_to()) == tile && Common(tile, move.own_from()) != tile;
    if (!arrived || places[t].tensor == output) continue;
    work.copies.push_back({CopyOf(tile, tile, *move.own_to(), move.type.dtype), places[t].tensor, output});
    work.copies.back().boxes.from = move.bytes(places[t].first);
  }
  if (work.zeroed == kNoTensor && work.copies.empty()) return;
  Append(move.node, "/unpack").work = std::move(work);
}

}  // namespace partita
