#include "graph/lower/moves/lower_rounds.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// Where a rank has a tile while an exchange goes on: dense, in the tile's order, from this element on.
struct TilePlace {
  TensorId tensor = kNoTensor;
  int64_t first = 0;
};

struct RoundBlock {
  int peer = 0;
  TilePlace place;
  int64_t count = 0;
};

bool AreRun(const std::vector<RoundBlock>& blocks) {
  for (size_t b = 1; b < blocks.size(); ++b) {
    const auto& [peer, place, count] = blocks[b - 1];
    if (blocks[b].place.tensor != place.tensor || blocks[b].place.first != place.first + count) return false;
  }
  return true;
}

class RoundsLowering {
 public:
  RoundsLowering(MoveLaunches& launches, const HeldMove& move, const ExchangePlan& plan)
      : launches_(launches), move_(move), plan_(plan), places_(plan.tiles.size()) {}

  absl::Status Run();

 private:
  // Places for the tiles that this rank sends of its own: in the input, or packed behind each other.
  void PlaceHeldTiles();
  // Places for those that it receives: in the output, or in a temporary.
  void PlaceReceivedTiles();
  void AppendRound(const std::vector<TileSend>& round, const std::string& suffix);
  // What this rank sends (`end` is TileSend::from) or receives (to) in a round.
  std::vector<RoundBlock> BlocksOf(const std::vector<TileSend>& round, int TileSend::*end) const;
  // Where the blocks lie one after the other: where they are, or in a temporary.
  TilePlace JoinedPlace(const std::vector<RoundBlock>& blocks, const std::string& suffix);
  // Copies them from their places to that run (`pack`) or from it; nothing if they are there.
  void AppendCopy(const std::vector<RoundBlock>& blocks, TilePlace run, bool pack, const std::string& suffix);
  // What is kept, and what did not arrive in the output; zeros in margins.
  void AppendRest();

  MoveLaunches& launches_;
  const HeldMove& move_;
  const ExchangePlan& plan_;
  TensorId output_ = kNoTensor;
  std::vector<TilePlace> places_;
};

absl::Status RoundsLowering::Run() {
  int64_t arriving = Arriving(plan_.kept, move_.self());
  for (const std::vector<TileSend>& round : plan_.rounds) arriving += Arriving(round, move_.self());
  if (arriving != Count(move_.Inside(move_.own_to()))) return launches_.Misfit(move_);
  output_ = launches_.NewOutput(move_.output);
  PlaceHeldTiles();
  PlaceReceivedTiles();
  for (size_t r = 0; r < plan_.rounds.size(); ++r) {
    AppendRound(plan_.rounds[r], "/round" + std::to_string(r));
  }
  AppendRest();
  return absl::OkStatus();
}

void RoundsLowering::PlaceHeldTiles() {
  std::vector<bool> sends(plan_.tiles.size(), false);
  for (const std::vector<TileSend>& round : plan_.rounds) {
    for (const TileSend& send : round) sends[send.tile] = sends[send.tile] || send.from == move_.self();
  }
  std::vector<HeldBox> packed;
  std::vector<size_t> packed_tiles;
  for (size_t t = 0; t < plan_.tiles.size(); ++t) {
    const Box& tile = plan_.tiles[t];
    if (!sends[t] || Common(tile, move_.own_from()) != tile) continue;  // else it is forwarded
    if (const std::optional<int64_t> start = RunStart(tile, *move_.own_from())) {
      places_[t] = {launches_.Of(move_.input), *start};
    } else {
      packed.push_back(tile);
      packed_tiles.push_back(t);
    }
  }
  if (packed.empty()) return;
  const TensorId held = launches_.NewTemporary(move_.node, "/held", move_.bytes(TotalCount(packed)));
  int64_t next = 0;
  for (const size_t t : packed_tiles) {
    places_[t] = {held, next};
    next += plan_.tiles[t].elements();
  }
  launches_.AppendCopy(move_.node, "/hold", PackCopies(packed, *move_.own_from(), move_.type.dtype),
                       launches_.Of(move_.input), held);
}

void RoundsLowering::PlaceReceivedTiles() {
  const bool margin = move_.own_to() != move_.Inside(move_.own_to());
  std::vector<int> elsewhere;
  int64_t next = 0;
  for (const std::vector<TileSend>& round : plan_.rounds) {
    for (const TileSend& send : round) {
      if (send.to != move_.self() || places_[send.tile].tensor >= 0) continue;
      const Box& tile = plan_.tiles[send.tile];
      const std::optional<int64_t> start = margin ? std::nullopt : RunStart(tile, *move_.own_to());
      places_[send.tile] = {output_, start.value_or(next)};
      if (start) continue;
      elsewhere.push_back(send.tile);
      next += tile.elements();
    }
  }
  if (elsewhere.empty()) return;
  const TensorId received = launches_.NewTemporary(move_.node, "/received", move_.bytes(next));
  for (const int tile : elsewhere) places_[tile].tensor = received;
}

// In the order of `round`: by peer, and within it by tile.
std::vector<RoundBlock> RoundsLowering::BlocksOf(const std::vector<TileSend>& round, int TileSend::*end) const {
  std::vector<RoundBlock> blocks;
  for (const TileSend& send : round) {
    if (send.*end != move_.self()) continue;
    const TilePlace& place = places_[send.tile];
    blocks.push_back(
        {send.to == move_.self() ? send.from : send.to, {place.tensor, place.first + send.first}, send.count});
  }
  return blocks;
}

void RoundsLowering::AppendRound(const std::vector<TileSend>& round, const std::string& suffix) {
  const std::vector<RoundBlock> sent = BlocksOf(round, &TileSend::from);
  const std::vector<RoundBlock> received = BlocksOf(round, &TileSend::to);
  CollectiveLaunch collective = move_.Collective(CollectiveKind::kAllToAll);
  collective.send_counts.assign(move_.from.size(), 0);
  collective.receive_counts.assign(move_.from.size(), 0);
  for (const RoundBlock& block : sent) collective.send_counts[block.peer] += block.count;
  for (const RoundBlock& block : received) collective.receive_counts[block.peer] += block.count;
  collective.input_count = CountOf(sent);
  collective.output_count = CountOf(received);
  const TilePlace input = JoinedPlace(sent, suffix + "/packed");
  const TilePlace output = JoinedPlace(received, suffix + "/received");
  AppendCopy(sent, input, true, suffix + "/pack");
  collective.input = input.tensor < 0 ? -1 : move_.bytes(input.first);
  collective.output = output.tensor < 0 ? -1 : move_.bytes(output.first);
  launches_.AppendCollective(move_.node, std::move(collective), input.tensor, output.tensor, suffix);
  AppendCopy(received, output, false, suffix + "/unpack");
}

TilePlace RoundsLowering::JoinedPlace(const std::vector<RoundBlock>& blocks, const std::string& suffix) {
  if (blocks.empty()) return {};
  if (AreRun(blocks)) return blocks.front().place;
  return {launches_.NewTemporary(move_.node, suffix, move_.bytes(CountOf(blocks))), 0};
}

void RoundsLowering::AppendCopy(const std::vector<RoundBlock>& blocks, TilePlace run, bool pack,
                                const std::string& suffix) {
  if (blocks.empty() || (run.tensor == blocks.front().place.tensor)) return;
  LocalCopies work;
  for (const RoundBlock& block : blocks) {
    const Box flat = WholeBox({block.count});
    const TilePlace& from = pack ? block.place : run;
    const TilePlace& to = pack ? run : block.place;
    work.copies.push_back({CopyOf(flat, flat, flat, move_.type.dtype), from.tensor, to.tensor});
    work.copies.back().boxes.from = move_.bytes(from.first);
    work.copies.back().boxes.to = move_.bytes(to.first);
    run.first += block.count;
  }
  launches_.Append(move_.node, suffix).work = std::move(work);
}

void RoundsLowering::AppendRest() {
  if (!move_.own_to()) return;
  LocalCopies work;
  if (move_.own_to() != move_.Inside(move_.own_to())) work.zeroed = output_;
  for (const TileSend& kept : plan_.kept) {
    if (kept.to != move_.self()) continue;
    work.copies.push_back({CopyOf(plan_.tiles[kept.tile], *move_.own_from(), *move_.own_to(), move_.type.dtype),
                           launches_.Of(move_.input), output_});
  }
  for (size_t t = 0; t < plan_.tiles.size(); ++t) {
    const Box& tile = plan_.tiles[t];
    const bool arrived = Common(tile, move_.own_to()) == tile && Common(tile, move_.own_from()) != tile;
    if (!arrived || places_[t].tensor == output_) continue;
    work.copies.push_back({CopyOf(tile, tile, *move_.own_to(), move_.type.dtype), places_[t].tensor, output_});
    work.copies.back().boxes.from = move_.bytes(places_[t].first);
  }
  if (work.zeroed == kNoTensor && work.copies.empty()) return;
  launches_.Append(move_.node, "/unpack").work = std::move(work);
}

}  // namespace

absl::Status LowerInRounds(MoveLaunches& launches, const HeldMove& move, const ExchangePlan& plan) {
  return RoundsLowering(launches, move, plan).Run();
}

}  // namespace partita
