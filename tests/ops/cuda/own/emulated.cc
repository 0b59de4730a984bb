#include "tests/ops/cuda/own/emulated.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/ir/op_definition.h"
#include "ops/values/columns.h"

namespace partita {

LaunchError CountingQueue::Launch(const void*, const LaunchShape& shape, void**) {
  EXPECT_GT(shape.blocks, 0);
  EXPECT_LE(shape.lanes * shape.depth, 1024);
  return Call();
}

LaunchError CountingQueue::Copy(void* to, const void* from, int64_t bytes) {
  if (Call() != kLaunched) return LaunchError::kQueue;
  std::memcpy(to, from, static_cast<size_t>(bytes));
  return kLaunched;
}

LaunchError CountingQueue::Zero(void* to, int64_t bytes) {
  if (Call() != kLaunched) return LaunchError::kQueue;
  std::memset(to, 0, static_cast<size_t>(bytes));
  return kLaunched;
}

absl::StatusOr<std::vector<Values>> Emulate(const CudaKernelEntry& entry, const LocalNode& node,
                                            const std::vector<Values>& inputs, const RunOptions& options,
                                            CountingQueue& queue) {
  NoForeignKernels none("no library here");
  ASSIGN_OR_RETURN(const PreparedCudaKernel prepared, entry.prepare(node, none));
  EXPECT_TRUE(prepared.deterministic);
  return RunOnBuffers(node, inputs, options, prepared.workspace_bytes, std::string(entry.family) + "_" + node.op->name,
                      [&](const KernelArguments& arguments) -> absl::Status {
                        ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared.bind(AtColumns(node, arguments)));
                        return enqueue(&queue);
                      });
}

std::vector<Values> Emulated(const LocalNode& node, const std::vector<Values>& inputs, const RunOptions& options) {
  CountingQueue queue;
  absl::StatusOr<std::vector<Values>> result =
      Emulate(CudaKernelEntries(node.op->name).back(), node, inputs, options, queue);
  EXPECT_TRUE(result.ok()) << node.op->name << ": " << result.status();
  return result.ok() ? *std::move(result) : std::vector<Values>(node.outputs.size());
}

void ExpectNear(const std::vector<Values>& found, const std::vector<Values>& expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_LE(Distance(found[i], expected[i]), tolerance) << what << " output " << i;
  }
}

}  // namespace partita
