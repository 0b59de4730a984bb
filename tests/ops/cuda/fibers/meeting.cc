#include "tests/ops/cuda/fibers/meeting.h"

#include <fmt/format.h>

#include "tests/ops/cuda/fibers/block.h"

namespace partita::fibers {

unsigned Lane() { return Block::running()->thread() % Lanes(); }
unsigned Depth() { return Block::running()->thread() / Lanes(); }
unsigned BlockIndex() { return Block::running()->index(); }
unsigned Lanes() { return Block::running()->shape().lanes; }
unsigned Depths() { return Block::running()->shape().depths; }
unsigned Blocks() { return Block::running()->shape().blocks; }
int LaneOfWarp() { return Block::running()->lane(); }

void MeetBlock(const char* file, int line) { Block::running()->Meet({file, line, 0}, 0); }

namespace {

// Lanes that the block's last warp does not have count for nothing.
unsigned LanesThere(unsigned mask) {
  const unsigned there = Lanes() * Depths() - Block::running()->thread() / kWarp * kWarp;
  return there < kWarp ? mask & ((1u << there) - 1) : mask;
}

const uint64_t* Meet(const char* call, unsigned mask, uint64_t given, int from) {
  Block& block = *Block::running();
  for (const int lane : {block.lane(), from}) {
    if ((mask >> lane & 1) == 0) block.Fail(fmt::format("{} of lanes {:#x} needs lane {}", call, mask, lane));
  }
  return block.Meet({call, 0, mask}, given);
}

}  // namespace

uint64_t MeetWarp(const char* call, unsigned mask, uint64_t given, int from) {
  return Meet(call, LanesThere(mask), given, from)[from];
}

unsigned Ballot(const char* call, unsigned mask, uint64_t given) {
  mask = LanesThere(mask);
  const uint64_t* const all = Meet(call, mask, given, LaneOfWarp());
  unsigned ballot = 0;
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((mask >> lane & 1) != 0 && all[lane] != 0) ballot |= 1u << lane;
  }
  return ballot;
}

}  // namespace partita::fibers
