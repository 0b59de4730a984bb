// A product as cuBLASLt's descriptors state it, copied from them: the descriptors may be destroyed before it is
// computed.
#ifndef PARTITA_TESTS_OPS_CUDA_CUBLASLT_MATMUL_PROBLEM_H_
#define PARTITA_TESTS_OPS_CUDA_CUBLASLT_MATMUL_PROBLEM_H_

#include <cublasLt.h>

#include <cstdint>

namespace partita::fake_cublaslt {

struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  int32_t bias_type = -1;  // -1: that of D
  const void* mask = nullptr;
  int64_t mask_bits = 0;  // leading dimension: bits of a column

  bool adds_bias() const {
    return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
           epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
  }
  // The sums of an operand over the inner dimension are stored where a bias would lie.
  bool sums_a() const { return epilogue == CUBLASLT_EPILOGUE_BGRADA; }
  bool sums_b() const { return epilogue == CUBLASLT_EPILOGUE_BGRADB; }
  bool has_bias() const { return adds_bias() || sums_a() || sums_b(); }
  bool clips() const {
    return epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS || writes_mask();
  }
  bool writes_mask() const {
    return epilogue == CUBLASLT_EPILOGUE_RELU_AUX || epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
  }
  bool reads_mask() const { return epilogue == CUBLASLT_EPILOGUE_DRELU; }
  bool has_mask() const { return writes_mask() || reads_mask(); }
};

inline int64_t SizeOf(cudaDataType type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

// Column-major; `batch` of them, each `stride` elements behind the one before.
struct Matrix {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;

  // From the first element of a matrix to behind its last.
  int64_t extent() const { return (static_cast<int64_t>(columns) - 1) * leading + static_cast<int64_t>(rows); }
};

// D = epilogue(alpha op(A) op(B) + beta C).
struct Problem {
  Operation operation;
  Matrix a, b, c, d;

  uint64_t inner() const { return operation.a == CUBLAS_OP_N ? a.columns : a.rows; }
};

struct Operands {
  const void *a, *b, *c;
  void* d;
  double alpha, beta;
};

}  // namespace partita::fake_cublaslt

#endif  // PARTITA_TESTS_OPS_CUDA_CUBLASLT_MATMUL_PROBLEM_H_
