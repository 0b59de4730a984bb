// A collective of a schedule on the communicator of its group.
#ifndef PARTITA_RUNTIME_EXEC_COLLECTIVE_LAUNCH_H_
#define PARTITA_RUNTIME_EXEC_COLLECTIVE_LAUNCH_H_

#include "absl/status/status.h"
#include "graph/schedule/schedule.h"
#include "runtime/comm/communicator.h"

namespace partita {

// Enqueues `launch` on `stream`; its offsets count from `arena`. Errors are the communicator's.
absl::Status EnqueueCollective(const CollectiveLaunch& launch, void* arena, Communicator& communicator, Stream& stream);

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_COLLECTIVE_LAUNCH_H_
