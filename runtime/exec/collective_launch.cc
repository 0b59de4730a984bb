#include "runtime/exec/collective_launch.h"

#include "runtime/base/check.h"

namespace partita {

absl::Status EnqueueCollective(const CollectiveLaunch& launch, void* arena, Communicator& communicator,
                               Stream& stream) {
  char* const base = static_cast<char*>(arena);
  const ConstBuffer in{launch.input < 0 ? nullptr : base + launch.input, launch.input_count, launch.dtype};
  const Buffer out{launch.output < 0 ? nullptr : base + launch.output, launch.output_count, launch.dtype};
  switch (launch.kind) {
    case CollectiveKind::kAllReduce:
      return communicator.AllReduce(in, out, launch.reduction, stream);
    case CollectiveKind::kAllGather:
      return communicator.AllGather(in, out, launch.send_counts, stream);
    case CollectiveKind::kReduceScatter:
      return communicator.ReduceScatter(in, out, launch.send_counts, launch.reduction, stream);
    case CollectiveKind::kBroadcast:
      return communicator.Broadcast(in, out, launch.root, stream);
    case CollectiveKind::kReduce:
      return communicator.Reduce(in, out, launch.root, launch.reduction, stream);
    case CollectiveKind::kAllToAll:
      return communicator.AllToAll(in, launch.send_counts, out, launch.receive_counts, stream);
  }
  CHECK(false);
  return absl::OkStatus();
}

}  // namespace partita
