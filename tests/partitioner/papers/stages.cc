#include "tests/partitioner/papers/stages.h"

#include <algorithm>
#include <limits>

#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<std::vector<size_t>> BalancedStages(const std::vector<double>& seconds, int stages) {
  const size_t layers = seconds.size();
  if (stages < 1 || layers < static_cast<size_t>(stages)) {
    return InvalidArgument("{} layers cannot be cut into {} stages; one layer at least is in each", layers, stages);
  }
  std::vector<double> until(layers + 1, 0);
  for (size_t l = 0; l < layers; ++l) until[l + 1] = until[l] + seconds[l];
  // longest[l]: of the first l layers in as many stages as were placed; cut[s][l]: where the last of them begins.
  std::vector<double> longest(layers + 1, std::numeric_limits<double>::infinity());
  std::vector<std::vector<size_t>> cut(stages, std::vector<size_t>(layers + 1, 0));
  longest[0] = 0;
  for (int s = 0; s < stages; ++s) {
    std::vector<double> next(layers + 1, std::numeric_limits<double>::infinity());
    for (size_t end = 1; end <= layers; ++end) {
      for (size_t begin = 0; begin < end; ++begin) {
        const double length = std::max(longest[begin], until[end] - until[begin]);
        if (length >= next[end]) continue;
        next[end] = length;
        cut[s][end] = begin;
      }
    }
    longest = std::move(next);
  }
  std::vector<size_t> ends(stages);
  size_t end = layers;
  for (int s = stages - 1; s >= 0; --s) {
    ends[s] = end;
    end = cut[s][end];
  }
  return ends;
}

}  // namespace partita
