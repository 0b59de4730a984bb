// Fast sums, products with a number, and dropout, of whose random words many blocks are made at once, in vectors.
// Outputs may lie at the address of an input.
#include <algorithm>

#include "ops/functors/dropout.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/global_index.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"
#include "ops/host/kernel/turn.h"

namespace partita {
namespace {

PARTITA_TARGET_CLONES void AddRange(const float* a, const float* b, float* sum, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
}

PARTITA_TARGET_CLONES void ScaleRange(const float* x, float factor, float* y, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = factor * x[i];
}

// A random number costs as much as touching so many elements.
constexpr int64_t kCostOfRandom = 8;

// One block of random words serves four elements.
constexpr int64_t kWords = 4, kBlocks = 16;

struct DropoutStep {
  uint64_t key, iteration;
  uint32_t threshold;
  float scale;
};

// Of whole turns of kBlocks blocks, from `block` on. Words of each lane are made one behind the other, and turned.
PARTITA_TARGET_CLONES void DropTurns(const float* x, float* y, int64_t turns, uint64_t block, const DropoutStep& step) {
  const uint64_t key = step.key, iteration = step.iteration;
  const uint32_t threshold = step.threshold;
  const float scale = step.scale;
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
      y[i] = Dropout(x[i], block.lane[lane], step.threshold, step.scale);
    }
  }
}

// Elements whose global indices are `start`, start + 1, ...
void DropoutRange(const float* x, float* y, int64_t n, uint64_t start, const DropoutStep& step) {
  const int64_t before = std::min(n, static_cast<int64_t>(-start % uint64_t{kWords}));
  const int64_t turns = (n - before) / (kWords * kBlocks), after = before + turns * kWords * kBlocks;
  DropSingly(x, y, before, start, step);
  DropTurns(x + before, y + before, turns, (start + static_cast<uint64_t>(before)) / kWords, step);
  DropSingly(x + after, y + after, n - after, start + static_cast<uint64_t>(after), step);
}

}  // namespace

// Only the first input may lie where the output does, so the partial sums overwrite nothing that is still to be read.
absl::StatusOr<PreparedKernel> FastAdd(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  return Prepared([elements = node.outputs[0].elements()](const KernelArguments& a) {
    ParallelRange(elements, [&](int64_t begin, int64_t end) {
      float* sum = Out<float>(a, 0) + begin;
      if (a.inputs.size() == 1 && sum != In<float>(a, 0) + begin) {
        std::copy(In<float>(a, 0) + begin, In<float>(a, 0) + end, sum);
      }
      for (size_t k = 1; k < a.inputs.size(); ++k) {
        AddRange(k == 1 ? In<float>(a, 0) + begin : sum, In<float>(a, k) + begin, sum, end - begin);
      }
    });
  });
}

absl::StatusOr<PreparedKernel> FastScale(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const auto factor = static_cast<float>(node.attributes.Float("factor"));
  return Prepared([factor, elements = node.outputs[0].elements()](const KernelArguments& a) {
    ParallelRange(elements, [&](int64_t begin, int64_t end) {
      ScaleRange(In<float>(a, 0) + begin, factor, Out<float>(a, 0) + begin, end - begin);
    });
  });
}

absl::StatusOr<PreparedKernel> FastDropout(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const LocalTensor x = node.outputs[0];
  const double rate = node.attributes.Float("rate");
  const int64_t first_sample = node.attributes.Int("first_sample");
  const std::string& key_name = node.attributes.String("key");
  const std::string name = key_name.empty() ? node.name : key_name;
  return Prepared([=](const KernelArguments& a) {
    const int32_t* iteration = In<int32_t>(a, 1);
    const DropoutStep step{PhiloxKey(a.seed, name), iteration == nullptr ? 0 : static_cast<uint64_t>(*iteration),
                           DropoutThreshold(rate), static_cast<float>(1 / (1 - rate))};
    const GlobalRows rows(x, first_sample);
    const auto drop = [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t row = begin / rows.length, at = begin % rows.length;
        const int64_t n = std::min(end - begin, rows.length - at);
        DropoutRange(In<float>(a, 0) + begin, Out<float>(a, 0) + begin, n, rows.Start(row) + static_cast<uint64_t>(at),
                     step);
        begin += n;
      }
    };
    ParallelRange(x.elements(), drop, kCostOfRandom);
  });
}

}  // namespace partita
