#include "ops/host/kernel/dropout_range.h"

#include <algorithm>

#include "ops/host/kernel/target_clones.h"
#include "ops/host/kernel/turn.h"

namespace partita {
namespace {

// One block of random words serves four elements.
constexpr int64_t kWords = 4, kBlocks = 16;

// Of whole turns of kBlocks blocks, from `block` on. Words of each lane are made one behind the other, and turned.
PARTITA_TARGET_CLONES void DropTurns(const float* x, float* y, int64_t turns, uint64_t block, const DropoutStep& step) {
  const uint64_t key = step.key, iteration = step.iteration;
  const uint32_t threshold = step.threshold;
  const auto scale = static_cast<float>(step.scale);
  for (int64_t t = 0; t < turns; ++t, block += kBlocks, x += kWords * kBlocks, y += kWords * kBlocks) {
    alignas(64) uint32_t lanes[kWords][kBlocks], words[kWords * kBlocks];
    for (uint64_t b = 0; b < kBlocks; ++b) {
      const PhiloxBlock made = RandomBlock(key, iteration, block + b);
      for (int64_t l = 0; l < kWords; ++l) lanes[l][b] = made.lane[l];
    }
    Turn(lanes[0], kBlocks, kBlocks, words, kWords);
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < kWords * kBlocks; ++i) y[i] = Dropout(x[i], words[i], threshold, scale);
  }
}

void DropSingly(const float* x, float* y, int64_t n, uint64_t start, const DropoutStep& step) {
  for (int64_t i = 0; i < n;) {
    const uint64_t index = start + static_cast<uint64_t>(i);
    const PhiloxBlock block = RandomBlock(step.key, step.iteration, index / kWords);
    for (uint64_t lane = index % kWords; lane < kWords && i < n; ++lane, ++i) {
      y[i] = Dropout(x[i], block.lane[lane], step.threshold, static_cast<float>(step.scale));
    }
  }
}

}  // namespace

void DropoutRange(const float* x, float* y, int64_t n, uint64_t start, const DropoutStep& step) {
  const int64_t before = std::min(n, static_cast<int64_t>(-start % uint64_t{kWords}));
  const int64_t turns = (n - before) / (kWords * kBlocks), after = before + turns * kWords * kBlocks;
  DropSingly(x, y, before, start, step);
  DropTurns(x + before, y + before, turns, (start + static_cast<uint64_t>(before)) / kWords, step);
  DropSingly(x + after, y + after, n - after, start + static_cast<uint64_t>(after), step);
}

}  // namespace partita
