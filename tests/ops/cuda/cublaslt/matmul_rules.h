// What cuBLASLt refuses, by its header and the cuBLAS 13 documentation: rules that need no GPU.
#ifndef PARTITA_TESTS_OPS_CUDA_CUBLASLT_MATMUL_RULES_H_
#define PARTITA_TESTS_OPS_CUDA_CUBLASLT_MATMUL_RULES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/cuda/cublaslt/matmul_problem.h"

namespace partita::fake_cublaslt {

struct Verdict {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  std::string why = "";

  bool ok() const { return status == CUBLAS_STATUS_SUCCESS; }
};

// What every function that takes the descriptors of a product checks.
Verdict CheckProblem(const Problem& problem);

// The promised alignment of addresses.
struct Alignments {
  uint64_t a = 256, b = 256, c = 256, d = 256;
};

// The fake's algorithms: which product one is for, and what it wants of a call.
struct Algorithm {
  Alignments alignments;
  uint64_t place = 0;           // in the list of the heuristics
  uint64_t shape = 0;           // ShapeOf the product
  uint64_t epilogue_align = 1;  // of bias and mask, as the heuristics saw them

  static Algorithm Read(const cublasLtMatmulAlgo_t& opaque);
  cublasLtMatmulAlgo_t Write() const;
  uint64_t workspace() const { return alignments.a == 16 ? 512 : 1024; }
};

// A number of everything about a product but its addresses.
uint64_t ShapeOf(const Problem& problem);

// The largest alignment, a power of two up to 16, of the addresses of bias and mask, if they are used.
uint64_t EpilogueAlignment(const Operation& operation);

Verdict CheckAlgorithm(const Problem& problem, const Algorithm& algorithm);

// What only the product itself can see.
Verdict CheckCall(const Problem& problem, const Algorithm& algorithm, const Operands& operands, const void* workspace,
                  uint64_t workspace_bytes);

// What the work of a call reads and writes, but the workspace: addresses and bytes.
std::vector<std::pair<const void*, int64_t>> MemoryOf(const Problem& problem, const Operands& operands);

}  // namespace partita::fake_cublaslt

#endif  // PARTITA_TESTS_OPS_CUDA_CUBLASLT_MATMUL_RULES_H_
