// What a rank of `local` copies and reduces for a collective.
#ifndef PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_
#define PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_

#include <span>
#include <vector>

#include "runtime/comm/host/host_call.h"

namespace partita {

// In a run, what LocalGroup shares among ranks is guarded by its mutex (in RunPhase by the order of phases).
struct LocalCall : HostCall {
  int unmet = 0;                    // pairs whose blocks are not yet copied
  std::vector<const void*> inputs;  // as many as ranks: where a reduction reads
};

// A collective is one phase, or two with a barrier between them.
int Phases(CommOperation operation);

// What `self` has to copy or reduce in a phase. `calls` are the calls of all ranks, by rank. Different ranks may run
// the same phase at the same time or one after the other; the result and the counts are the same.
void RunPhase(int phase, LocalCall& self, std::span<LocalCall* const> calls);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_
