#include "graph/plan/in_line.h"

#include <algorithm>
#include <cstddef>

#include "graph/plan/stream_work.h"

namespace partita {
namespace {

// Whether a launch reads what the one before it writes, both in the same tensor or in parts of the same.
bool Follows(const LocalProgram& program, const LocalLaunch& launch, const LocalLaunch& before) {
  const auto whole = [&](TensorId tensor) {
    const TensorId inside = program.tensors[tensor].inside;
    return inside < 0 ? tensor : inside;
  };
  std::vector<TensorId> written;
  VisitTensors(before, [&](TensorId tensor, bool write) {
    if (write) written.push_back(whole(tensor));
  });
  bool follows = false;
  VisitTensors(launch, [&](TensorId tensor, bool write) {
    follows = follows || (!write && std::ranges::find(written, whole(tensor)) != written.end());
  });
  return follows;
}

}  // namespace

std::vector<bool> RunsInLine(const LocalProgram& program) {
  const std::vector<LocalLaunch>& launches = program.launches;
  std::vector<bool> in_line(launches.size(), false);
  for (size_t l = 1; l + 1 < launches.size(); ++l) {
    const LocalLaunch &before = launches[l - 1], &behind = launches[l + 1];
    in_line[l] = LaneOf(launches[l]) == Lane::kCollective && LaneOf(before) == Lane::kCompute &&
                 LaneOf(behind) == Lane::kCompute && Follows(program, launches[l], before) &&
                 Follows(program, behind, launches[l]);
  }
  return in_line;
}

}  // namespace partita
