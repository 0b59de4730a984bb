#include "partitioner/profile/crowding.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "runtime/base/check.h"

namespace partita {

void Crowding::Add(double computing, double times) { times_[computing] = std::max(1.0, times); }

double Crowding::At(double computing) const {
  CHECK(!times_.empty());
  const auto above = times_.lower_bound(computing);
  if (above == times_.end()) return times_.rbegin()->second;
  if (above == times_.begin()) return above->second;
  const auto& [fewer, below] = *std::prev(above);
  return std::lerp(below, above->second, (computing - fewer) / (above->first - fewer));
}

}  // namespace partita
