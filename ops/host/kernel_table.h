// The list of all kernels of the host: for each op those that compute it, the preferred one first, the plain reference
// last. A kernel that cannot run a node says why; the next one is asked. The last takes everything.
#ifndef PARTITA_OPS_HOST_KERNEL_TABLE_H_
#define PARTITA_OPS_HOST_KERNEL_TABLE_H_

#include <string>
#include <vector>

#include "ops/host/kernel/host_kernel.h"
#include "ops/values/columns.h"

namespace partita {

inline bool IsForEveryMachine() { return true; }

struct HostKernelEntry {
  // "winograd", "grouped", "packed", "onednn", "im2col", "blocked", "fast", "reference": it is <name>_<op>
  const char* name;
  HostKernelFactory prepare;
  Bf16Nodes bf16 = Bf16Nodes::kWidened;
  ColumnOperands columns = {};
  bool (*is_for)() = IsForEveryMachine;  // whether this machine has the kernel at this place of the order
};

// Empty for an op without kernels (a state, a move).
const std::vector<HostKernelEntry>& HostKernelEntries(const std::string& op);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_TABLE_H_
