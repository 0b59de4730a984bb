// Counts how often a stream came there, and shows it to the host: how far a replay is, seen from outside.
#ifndef PARTITA_RUNTIME_COMM_NCCL_COUNT_UP_KERNEL_H_
#define PARTITA_RUNTIME_COMM_NCCL_COUNT_UP_KERNEL_H_

namespace partita {

// A __global__ function for one thread, of four `unsigned long long*`: a count in memory of the GPU, to which one is
// added, and where that is stored in pinned memory of the host; then the same of a second count, or two nulls.
const void* CountUpKernel();

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_NCCL_COUNT_UP_KERNEL_H_
