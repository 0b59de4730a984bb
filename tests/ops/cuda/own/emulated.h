// Runs kernels of ops/cuda without a GPU: their .cu files compiled as C++, where a launch is a loop over the same
// bodies in the same partition (ops/cuda/loops/loops.h).
#ifndef PARTITA_TESTS_OPS_CUDA_OWN_EMULATED_H_
#define PARTITA_TESTS_OPS_CUDA_OWN_EMULATED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/dtype.h"
#include "ops/cuda/kernel_table.h"
#include "ops/cuda/launch/launch.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

// Copies here and now; refuses the call `fail_at`, the first is 1.
class CountingQueue : public LaunchQueue {
 public:
  int calls = 0, fail_at = 0;

  LaunchError Launch(const void* function, const LaunchShape& shape, void** arguments) override;
  LaunchError Copy(void* to, const void* from, int64_t bytes) override;
  LaunchError Zero(void* to, int64_t bytes) override;
  CUstream_st* BeginWork() override { return nullptr; }

 private:
  LaunchError Call() { return ++calls == fail_at ? LaunchError::kQueue : kLaunched; }
};

absl::StatusOr<std::vector<Values>> Emulate(const CudaKernelEntry& entry, const LocalNode& node,
                                            const std::vector<Values>& inputs, const RunOptions& options,
                                            CountingQueue& queue);

// Our own kernel of the node, which must succeed.
std::vector<Values> Emulated(const LocalNode& node, const std::vector<Values>& inputs, const RunOptions& options = {});

// The largest difference allowed, relative to the largest magnitude (or 1). Sums are taken in double, so f32 results
// differ by a few roundings; exp and log of f32 are the library's.
inline double Tolerance(DType dtype) { return dtype == DType::kF64 ? 1e-13 : 2e-6; }

void ExpectNear(const std::vector<Values>& found, const std::vector<Values>& expected, double tolerance,
                const std::string& what);

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_OWN_EMULATED_H_
