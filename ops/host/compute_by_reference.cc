#include "ops/host/compute_by_reference.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/host/kernel_table.h"
#include "runtime/base/status.h"

namespace partita {

absl::Status ComputeByReference(const LocalNode& node, KernelArguments arguments) {
  const std::vector<HostKernelEntry>& entries = HostKernelEntries(node.op->name);
  if (entries.empty()) return InvalidArgument("node '{}': op '{}' has no kernel", node.name, node.op->name);
  const absl::StatusOr<PreparedKernel> prepared = entries.back().prepare(node);
  if (!prepared.ok()) return WithContext(fmt::format("node '{}'", node.name), prepared.status());
  std::vector<double> workspace(static_cast<size_t>(prepared->workspace_bytes) / sizeof(double) + 1);
  arguments.workspace = workspace.data();
  ASSIGN_OR_RETURN(const Computation compute, prepared->bind(arguments));
  return WithContext(fmt::format("node '{}'", node.name), compute());
}

}  // namespace partita
