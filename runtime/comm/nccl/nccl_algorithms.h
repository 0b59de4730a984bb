// The algorithms that NCCL may choose from: the environment variable NCCL_ALGO.
#ifndef PARTITA_RUNTIME_COMM_NCCL_NCCL_ALGORITHMS_H_
#define PARTITA_RUNTIME_COMM_NCCL_NCCL_ALGORITHMS_H_

#include <string>

namespace partita {

// Whether `algorithms`, a value of NCCL_ALGO ("^NVLS,NVLSTree", "Ring", "allreduce:tree;reducescatter:^nvls"), keeps
// NCCL from NVLS where it sums. There the switch adds, in an order that may differ from run to run; rings and trees add
// in one order. Null (the variable is not set) does not.
bool ExcludesNvls(const char* algorithms);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_NCCL_NCCL_ALGORITHMS_H_
