#include "runtime/data/augmentation.h"

#include "runtime/base/philox.h"

namespace partita {
namespace {

int64_t DrawShift(uint32_t word, int64_t shift) {
  const double positions = static_cast<double>(2 * shift + 1);
  return static_cast<int64_t>(static_cast<double>(ToUniform(word)) * positions) - shift;
}

}  // namespace

Transform DrawTransform(const Augmentation& augmentation, uint64_t key, int64_t epoch, int64_t sample) {
  const PhiloxBlock block = RandomBlock(key, epoch, sample);
  return {DrawShift(block.lane[0], augmentation.shift), DrawShift(block.lane[1], augmentation.shift),
          augmentation.flip && ToUniform(block.lane[2]) < 0.5f};
}

}  // namespace partita
