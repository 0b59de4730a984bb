// Computes a product of cuBLASLt's on the host, with its epilogue: f32 and bf16 in f32, f64 in f64.
#ifndef PARTITA_TESTS_OPS_CUDA_CUBLASLT_HOST_MATMUL_H_
#define PARTITA_TESTS_OPS_CUDA_CUBLASLT_HOST_MATMUL_H_

#include "tests/ops/cuda/cublaslt/matmul_problem.h"

namespace partita::fake_cublaslt {

// `problem` must have passed CheckProblem. Like the library, it overwrites the bits that a relu mask has behind the
// last row. Thread-safe; the order of a sum depends on the inner dimension alone.
void Compute(const Problem& problem, const Operands& operands);

}  // namespace partita::fake_cublaslt

#endif  // PARTITA_TESTS_OPS_CUDA_CUBLASLT_HOST_MATMUL_H_
