// The nodes that kernels are measured on.
#ifndef PARTITA_TOOLS_MODELS_KERNELS_KERNEL_CASES_H_
#define PARTITA_TOOLS_MODELS_KERNELS_KERNEL_CASES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/kernel_catalogue.h"

namespace partita {

struct KernelCase {
  LocalNode node;
  double flops = 0;  // of contractions; else 0: bytes count
};

// What shows how fast a device computes: products of two matrices of `side` and of half of it, and a convolution of
// `batch` images by filters of 1 x 1: with larger ones there are algorithms of fewer operations than are counted.
absl::StatusOr<std::vector<KernelCase>> ComputingCases(int64_t batch, int64_t side, DType dtype);

// Cases that show how fast the device moves this number of bytes, read and written together: a copy by a library, an
// element-wise op by all threads, and a sum, which only reads. `bytes`: a multiple of 32.
absl::StatusOr<std::vector<KernelCase>> MovingCases(int64_t bytes);

// f32 nodes: a large copy and a product of matrices of `side`, what training of `batch` images is made of, and LSTMs of
// twice as many sequences.
absl::StatusOr<std::vector<KernelCase>> KernelCases(int64_t batch, int64_t side);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_KERNELS_KERNEL_CASES_H_
