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

// A copy of 4 MiB for each of so many images.
absl::StatusOr<KernelCase> CopyCase(int64_t batch);

// The product of two matrices of `side`.
absl::StatusOr<KernelCase> ProductCase(int64_t side, DType dtype);

// f32 nodes: first a large copy and a product of matrices of `side`, then what training of `batch` images is made of.
absl::StatusOr<std::vector<KernelCase>> KernelCases(int64_t batch, int64_t side);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_KERNELS_KERNEL_CASES_H_
