// The copies and reductions of a collective of `local`, in parts that any rank may do.
#ifndef PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_
#define PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_

#include <span>
#include <vector>

#include "runtime/comm/shared/comm_call.h"
#include "runtime/device/strided_copy.h"

namespace partita {

// In a run, what LocalGroup shares among ranks is guarded by its mutex.
struct LocalCall : CommCall {
  int taken = 0;                    // parts of this rank's work that someone has begun
  std::vector<const void*> inputs;  // as many as ranks: where a reduction by this rank's thread reads
  StridedCopy strided;              // what this rank's thread copies of a block now
  int64_t bytes = 0;                // the larger of what it reads and what it writes
};

// Bytes that changed rank in a part: read from peers by the rank whose part it is, and written to each of them.
struct PartBytes {
  int64_t own = 0;
  int64_t each_peer = 0;
};

// Copies what a rank keeps itself of an all_gather or all_to_all. No peer is needed for it.
void CopyOwn(LocalCall& self);

// LocalCall::bytes, known as soon as the call is.
int64_t BytesOf(const CommCall& call);

// Into how many parts the work of each rank is cut.
int PartsOf(std::span<LocalCall* const> calls);

// A part (of 0..parts-1) of what else `self` has to do, by the thread of `worker`. `calls` are the calls of all ranks,
// by rank. Parts may be done at the same time, and by whom they like: result and bytes are the same.
PartBytes RunPart(int part, int parts, const LocalCall& self, LocalCall& worker, std::span<LocalCall* const> calls);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_LOCAL_LOCAL_CALL_H_
