// Counts how often a stream came there, and shows it to the host: how far a replay is, seen from outside.
#ifndef PARTITA_RUNTIME_COMM_NCCL_COUNT_UP_KERNEL_H_
#define PARTITA_RUNTIME_COMM_NCCL_COUNT_UP_KERNEL_H_

namespace partita {

// A __global__ function for one thread that takes four `unsigned long long*`: a counter in device memory, which it
// increments, and the place in pinned host memory to which it copies the new value; then the same for a second counter,
// or two nulls.
const void* CountUpKernel();

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_NCCL_COUNT_UP_KERNEL_H_
