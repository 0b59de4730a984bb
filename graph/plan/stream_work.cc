#include "graph/plan/stream_work.h"

#include <variant>

#include "graph/plan/launch_seconds.h"

namespace partita {

Lane LaneOf(const LocalLaunch& launch) {
  if (std::holds_alternative<LocalHost>(launch.work)) return Lane::kHost;
  return std::holds_alternative<LocalCollective>(launch.work) ? Lane::kCollective : Lane::kCompute;
}

std::vector<StreamWork> StreamWorkOf(const LocalProgram& program, const std::optional<MachineSpeed>& speed) {
  std::vector<StreamWork> work(program.launches.size());
  std::vector<int> writer(program.tensors.size(), -1);
  for (size_t l = 0; l < program.launches.size(); ++l) {
    const LocalLaunch& launch = program.launches[l];
    work[l].lane = LaneOf(launch);
    work[l].seconds = speed ? SecondsOf(launch, *speed) : 1;
    VisitTensors(launch, [&](TensorId tensor, bool write) {
      if (!write && writer[tensor] >= 0) work[l].producers.push_back(writer[tensor]);
    });
    VisitTensors(launch, [&](TensorId tensor, bool write) {
      if (write) writer[tensor] = static_cast<int>(l);
    });
  }
  return work;
}

}  // namespace partita
