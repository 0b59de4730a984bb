// Runs the own kernel of a node on fibers.
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_OWN_KERNEL_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_OWN_KERNEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/cuda/kernel/cuda_kernel.h"
#include "tests/ops/cuda/fibers/memory.h"
#include "tests/ops/host/kernel_case.h"

namespace partita::fibers {

struct FiberRun {
  std::vector<Values> outputs;
  Memory memory;  // what was touched of "input 0", "output 0", "workspace"; of one place "input 0=output 0"
  int launches = 0;
};

// An error: the kernel refuses the node, or what is wrong with its launches.
absl::StatusOr<FiberRun> RunOnFibers(const LocalNode& node, const std::vector<Values>& inputs,
                                     const RunOptions& options = {}, uint64_t seed = 1);
absl::StatusOr<FiberRun> RunOnFibers(const LocalNode& node, const PreparedCudaKernel& prepared,
                                     const std::vector<Values>& inputs, const RunOptions& options = {},
                                     uint64_t seed = 1);

// RunOnFibers, which must succeed.
std::vector<Values> OnFibers(const LocalNode& node, const std::vector<Values>& inputs, const RunOptions& options = {},
                             uint64_t seed = 1);

// What the host's reference computes in f64.
std::vector<Values> Reference(const LocalNode& node, const std::vector<Values>& inputs);

// As near to it as in tests/ops/cuda/own; bf16 as one rounding more.
inline constexpr double kTolerance = 2e-6;
void ExpectNear(const LocalNode& node, const std::vector<Values>& found, const std::vector<Values>& expected);

}  // namespace partita::fibers

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_OWN_KERNEL_H_
