// Adds one to a number in pinned memory of the host when a stream comes there: how far a replay is, seen from outside.
#ifndef PARTITA_RUNTIME_COMM_NCCL_COUNT_UP_KERNEL_H_
#define PARTITA_RUNTIME_COMM_NCCL_COUNT_UP_KERNEL_H_

namespace partita {

// A __global__ function of one `unsigned long long*`, for one thread.
const void* CountUpKernel();

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_NCCL_COUNT_UP_KERNEL_H_
