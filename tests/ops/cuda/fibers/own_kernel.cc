#include "tests/ops/cuda/fibers/own_kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "graph/ir/op_definition.h"
#include "ops/cuda/kernel_table.h"
#include "ops/values/columns.h"
#include "tests/ops/cuda/fibers/fiber_queue.h"

namespace partita::fibers {
namespace {

// Of the tensor, or of the larger one of which it is a part.
int64_t BytesOf(const LocalNode& node, size_t operand, LocalTensor tensor) {
  if (!node.within.empty()) tensor.box = node.within[operand];
  return tensor.bytes();
}

Memory MemoryOf(const LocalNode& node, const KernelArguments& arguments, int64_t workspace_bytes) {
  Memory memory;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (arguments.inputs[i] == nullptr) continue;
    memory.Add(fmt::format("input {}", i), arguments.inputs[i], BytesOf(node, i, *node.inputs[i]), false);
  }
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const int64_t bytes = BytesOf(node, node.inputs.size() + o, node.outputs[o]);
    memory.Add(fmt::format("output {}", o), arguments.outputs[o], bytes, true);
  }
  memory.Add("workspace", arguments.workspace, workspace_bytes, true);
  return memory;
}

}  // namespace

absl::StatusOr<FiberRun> RunOnFibers(const LocalNode& node, const std::vector<Values>& inputs,
                                     const RunOptions& options, uint64_t seed) {
  NoForeignKernels none("no library here");
  ASSIGN_OR_RETURN(const PreparedCudaKernel prepared, CudaKernelEntries(node.op->name).back().prepare(node, none));
  return RunOnFibers(node, prepared, inputs, options, seed);
}

absl::StatusOr<FiberRun> RunOnFibers(const LocalNode& node, const PreparedCudaKernel& prepared,
                                     const std::vector<Values>& inputs, const RunOptions& options, uint64_t seed) {
  FiberRun result;
  const auto run = [&](const KernelArguments& arguments) -> absl::Status {
    ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared.bind(AtColumns(node, arguments)));
    result.memory = MemoryOf(node, arguments, prepared.workspace_bytes);
    FiberQueue queue(seed, result.memory);
    const absl::Status status = enqueue(&queue);
    result.launches = queue.launches();
    return queue.failure().empty() ? status : absl::InternalError(queue.failure());
  };
  ASSIGN_OR_RETURN(result.outputs, RunOnBuffers(node, inputs, options, prepared.workspace_bytes, node.op->name, run));
  return result;
}

std::vector<Values> OnFibers(const LocalNode& node, const std::vector<Values>& inputs, const RunOptions& options,
                             uint64_t seed) {
  absl::StatusOr<FiberRun> run = RunOnFibers(node, inputs, options, seed);
  EXPECT_TRUE(run.ok()) << node.op->name << ": " << run.status();
  return run.ok() ? run->outputs : std::vector<Values>(node.outputs.size());
}

std::vector<Values> Reference(const LocalNode& node, const std::vector<Values>& inputs) {
  return Outputs(InF64(node), inputs, {.reference_only = true});
}

void ExpectNear(const LocalNode& node, const std::vector<Values>& found, const std::vector<Values>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  // Gradients of attention are several products in f32, and those of a row of scores cancel.
  const double tolerance = node.op->name.starts_with("scaled_dot_product_attention") ? 1e-5 : kTolerance;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_LE(Distance(found[i], expected[i]), tolerance + RoundingOnGpu(node, i))
        << "output " << i << " " << Name(node.outputs[i].dtype);
  }
}

}  // namespace partita::fibers
