#include "partitioner/cluster/slowdown.h"

#include <cmath>
#include <iterator>

namespace partita {

double SlowdownOf(const Slowdown& slowdown, int ranks) {
  const auto above = slowdown.lower_bound(ranks);
  if (above == slowdown.end()) {
    const auto& [most, times] = *std::prev(slowdown.end());
    return times * ranks / most;
  }
  if (above->first == ranks) return above->second;
  const auto& [fewer, below] = *std::prev(above);
  return std::lerp(below, above->second, static_cast<double>(ranks - fewer) / (above->first - fewer));
}

}  // namespace partita
