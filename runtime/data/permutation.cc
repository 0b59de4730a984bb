#include "runtime/data/permutation.h"

#include <limits>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/philox.h"

namespace partita {
namespace {

// A number in [0, bound). Of 2^64 equally likely words some values get one more than others: with bounds below 2^32 the
// difference is below 2^-32 of a probability.
uint32_t Below(uint64_t word, uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint32_t>(static_cast<Wide>(word) * bound >> 64);
}

}  // namespace

std::vector<uint32_t> EpochPermutation(uint64_t seed, int64_t epoch, int64_t count) {
  CHECK(count >= 0 && count <= std::numeric_limits<uint32_t>::max());
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  const uint64_t key = PhiloxKey(seed, "epoch permutation");
  for (int64_t i = count - 1; i > 0; --i) {
    const PhiloxBlock block = RandomBlock(key, epoch, i);
    const uint64_t word = uint64_t{block.lane[1]} << 32 | block.lane[0];
    std::swap(order[i], order[Below(word, i + 1)]);
  }
  return order;
}

}  // namespace partita
