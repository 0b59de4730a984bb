// The list of all kernels of the GPU: for each op those that compute it, the preferred one first; the last one is our
// own and accepts every node. A kernel that cannot run a node says why; then the next one is tried.
#ifndef PARTITA_OPS_CUDA_KERNEL_TABLE_H_
#define PARTITA_OPS_CUDA_KERNEL_TABLE_H_

#include <string>
#include <vector>

#include "ops/cuda/kernel/cuda_kernel.h"
#include "ops/values/columns.h"

namespace partita {

// Kernels of libraries that are opened at run time. Each refuses with a reason, the library's absence among them.
class ForeignKernels {
 public:
  virtual ~ForeignKernels() = default;
  // Whether the libraries multiply f32 in TF32. Kernels of our own never do.
  virtual bool allows_tf32() const { return false; }
  virtual absl::StatusOr<PreparedCudaKernel> MatMul(const LocalNode& node) = 0;
  // lstm_steps and its two gradients.
  virtual absl::StatusOr<PreparedCudaKernel> Lstm(const LocalNode& node) = 0;
  // conv2d and its two gradients; conv2d_input_grad_sum of one term.
  virtual absl::StatusOr<PreparedCudaKernel> Convolution(const LocalNode& node) = 0;
};

struct CudaKernelEntry {
  const char* family;  // "cudnn", "cublaslt", "own", "reference"; a kernel is called <family>_<op>
  // Own kernels call nothing of `foreign`.
  absl::StatusOr<PreparedCudaKernel> (*prepare)(const LocalNode& node, ForeignKernels& foreign);
  ColumnOperands columns = {};
};

// Empty for an op without kernels (a state, a move).
const std::vector<CudaKernelEntry>& CudaKernelEntries(const std::string& op);

// Names of the ops that have kernels, sorted.
std::vector<std::string> CudaKernelOps();

// For where no library is to be used: all refuse with `reason`.
class NoForeignKernels : public ForeignKernels {
 public:
  explicit NoForeignKernels(std::string reason) : reason_(std::move(reason)) {}
  absl::StatusOr<PreparedCudaKernel> MatMul(const LocalNode&) override { return Unavailable("{}", reason_); }
  absl::StatusOr<PreparedCudaKernel> Lstm(const LocalNode&) override { return Unavailable("{}", reason_); }
  absl::StatusOr<PreparedCudaKernel> Convolution(const LocalNode&) override { return Unavailable("{}", reason_); }

 private:
  const std::string reason_;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_TABLE_H_
