// In builds without CUDA the kernel benchmark has no GPU.
#include "runtime/base/status.h"
#include "tools/benchmarks/kernels/kernel_benchmark.h"

namespace partita {

absl::StatusOr<KernelTarget> OpenCudaTarget(bool) { return Unavailable("this program was built without CUDA"); }

}  // namespace partita
