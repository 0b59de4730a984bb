#include "tests/ops/cuda/cublaslt/matmul_rules.h"

#include <fmt/format.h>

#include <array>
#include <tuple>
#include <utility>

namespace partita::fake_cublaslt {
namespace {

template <typename... Arguments>
Verdict Invalid(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return {CUBLAS_STATUS_INVALID_VALUE, fmt::format(text, std::forward<Arguments>(arguments)...)};
}
template <typename... Arguments>
Verdict NotSupported(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return {CUBLAS_STATUS_NOT_SUPPORTED, fmt::format(text, std::forward<Arguments>(arguments)...)};
}

std::array<std::pair<char, const Matrix*>, 4> MatricesOf(const Problem& p) {
  return {{{'A', &p.a}, {'B', &p.b}, {'C', &p.c}, {'D', &p.d}}};
}

Verdict CheckLayouts(const Problem& p) {
  const Operation& o = p.operation;
  for (const auto& [name, matrix] : MatricesOf(p)) {
    if (matrix->rows == 0 || matrix->columns == 0) return Invalid("{} is empty", name);
    if (matrix->leading < static_cast<int64_t>(matrix->rows)) {
      return Invalid("the leading dimension of {} is {}, less than its {} rows", name, matrix->leading, matrix->rows);
    }
  }
  const uint64_t m = o.a == CUBLAS_OP_N ? p.a.rows : p.a.columns, n = o.b == CUBLAS_OP_N ? p.b.columns : p.b.rows;
  const uint64_t inner_b = o.b == CUBLAS_OP_N ? p.b.rows : p.b.columns;
  if (p.inner() != inner_b) return Invalid("the inner dimension is {} in A and {} in B", p.inner(), inner_b);
  if (p.d.rows != m || p.d.columns != n) {
    return Invalid("D is {} x {}, the product {} x {}", p.d.rows, p.d.columns, m, n);
  }
  if (p.c.rows != m || p.c.columns != n) {
    return Invalid("C is {} x {}, the product {} x {}", p.c.rows, p.c.columns, m, n);
  }
  if (p.c.type != p.d.type) return NotSupported("C and D are of two types");
  return {};
}

// Operands of several products may overlap, and one matrix may serve them all; results may not.
Verdict CheckBatches(const Problem& p) {
  for (const auto& [name, matrix] : MatricesOf(p)) {
    if (matrix->batch < 1) return Invalid("{} has {} matrices", name, matrix->batch);
    if (matrix->batch != p.d.batch) return Invalid("{} has {} matrices, D {}", name, matrix->batch, p.d.batch);
    if (matrix->stride < 0) return Invalid("the matrices of {} are {} elements apart", name, matrix->stride);
  }
  if (p.d.batch == 1) return {};
  if (p.d.stride < p.d.extent()) {
    return Invalid("the matrices of D are {} elements apart and take {}", p.d.stride, p.d.extent());
  }
  if (p.operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return NotSupported("an epilogue of several products");
  return {};
}

// The rows of the documentation's table for regular matrices that Partita has types for.
Verdict CheckTypes(const Problem& p) {
  struct Row {
    cublasComputeType_t compute;
    cudaDataType scale, operands, result;
  };
  static constexpr Row kRows[] = {
      {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
      {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF},
      {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F},
      {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
      {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
  };
  for (const Row& row : kRows) {
    if (row.compute == p.operation.compute && row.scale == p.operation.scale && row.operands == p.a.type &&
        row.operands == p.b.type && row.result == p.d.type) {
      return {};
    }
  }
  return NotSupported("compute type {}, scale {}, A {}, B {}, D {} are no row of the table of types",
                      static_cast<int>(p.operation.compute), static_cast<int>(p.operation.scale),
                      static_cast<int>(p.a.type), static_cast<int>(p.b.type), static_cast<int>(p.d.type));
}

Verdict CheckEpilogue(const Problem& p) {
  const Operation& o = p.operation;
  const bool plain = o.epilogue == CUBLASLT_EPILOGUE_DEFAULT || o.epilogue == CUBLASLT_EPILOGUE_RELU;
  if (!plain && !o.has_bias() && !o.has_mask()) return NotSupported("epilogue {}", static_cast<int>(o.epilogue));
  if (o.has_bias()) {
    if (o.bias == nullptr) return Invalid("the bias has no address");
    if (o.bias_type != -1 && o.bias_type != static_cast<int32_t>(p.d.type)) {
      return NotSupported("the bias is of type {}, D of type {}", o.bias_type, static_cast<int>(p.d.type));
    }
  }
  if (!o.has_mask()) return {};
  if (o.mask == nullptr) return Invalid("the mask of a relu has no address");
  if (o.mask_bits % 128 != 0) {
    return Invalid("the leading dimension of a relu's mask is {} bits, no multiple of 128", o.mask_bits);
  }
  if (o.mask_bits < static_cast<int64_t>(p.d.rows)) {
    return Invalid("the leading dimension of a relu's mask is {} bits, less than D's {} rows", o.mask_bits, p.d.rows);
  }
  // Not documented; NVIDIA's nvmath-python refuses it, since the library does.
  if (o.reads_mask() && p.inner() == 1) return NotSupported("DRELU with an inner dimension of 1");
  return {};
}

}  // namespace

Verdict CheckProblem(const Problem& problem) {
  if (Verdict verdict = CheckLayouts(problem); !verdict.ok()) return verdict;
  if (Verdict verdict = CheckBatches(problem); !verdict.ok()) return verdict;
  if (Verdict verdict = CheckTypes(problem); !verdict.ok()) return verdict;
  return CheckEpilogue(problem);
}

Algorithm Algorithm::Read(const cublasLtMatmulAlgo_t& opaque) {
  const auto& data = opaque.data;
  return {{data[0], data[4], data[5], data[6]}, data[1], data[2], data[3]};
}

cublasLtMatmulAlgo_t Algorithm::Write() const {
  return {{alignments.a, place, shape, epilogue_align, alignments.b, alignments.c, alignments.d, 0}};
}

uint64_t ShapeOf(const Problem& p) {
  uint64_t hash = 14695981039346656037U;  // FNV-1a
  const auto add = [&hash](auto value) { hash = (hash ^ static_cast<uint64_t>(value)) * 1099511628211U; };
  for (const Matrix* matrix : {&p.a, &p.b, &p.c, &p.d}) {
    add(matrix->type);
    add(matrix->rows);
    add(matrix->columns);
    add(matrix->leading);
    add(matrix->batch);
    add(matrix->stride);
  }
  const Operation& o = p.operation;
  add(o.compute);
  add(o.a);
  add(o.b);
  add(o.epilogue);
  return hash;
}

uint64_t EpilogueAlignment(const Operation& operation) {
  uint64_t bits = 16;
  if (operation.has_bias()) bits |= reinterpret_cast<uintptr_t>(operation.bias);
  if (operation.has_mask()) bits |= reinterpret_cast<uintptr_t>(operation.mask);
  return bits & -bits;
}

Verdict CheckAlgorithm(const Problem& problem, const Algorithm& algorithm) {
  if (algorithm.shape != ShapeOf(problem)) return NotSupported("the algorithm is another product's");
  return {};
}

Verdict CheckCall(const Problem& problem, const Algorithm& algorithm, const Operands& at, const void* workspace,
                  uint64_t workspace_bytes) {
  if (workspace_bytes < algorithm.workspace()) {
    return Invalid("the workspace has {} bytes, the algorithm needs {}", workspace_bytes, algorithm.workspace());
  }
  if (workspace == nullptr) return Invalid("the workspace has no address");
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return Invalid("the workspace lies off 256 bytes");
  const Alignments& promised = algorithm.alignments;
  const std::tuple<char, const void*, uint64_t> all[] = {
      {'A', at.a, promised.a}, {'B', at.b, promised.b}, {'C', at.c, promised.c}, {'D', at.d, promised.d}};
  for (const auto& [name, address, alignment] : all) {
    if (address == nullptr) return Invalid("{} has no address", name);
    if (reinterpret_cast<uintptr_t>(address) % alignment != 0) {
      return Invalid("{} lies off the {} bytes that were promised to the heuristics", name, alignment);
    }
  }
  if (EpilogueAlignment(problem.operation) < algorithm.epilogue_align) {
    return Invalid("a bias or a mask lies off the {} bytes that the heuristics saw", algorithm.epilogue_align);
  }
  return {};
}

std::vector<std::pair<const void*, int64_t>> MemoryOf(const Problem& p, const Operands& at) {
  const auto bytes = [](const Matrix& matrix) {
    return ((matrix.batch - 1) * matrix.stride + matrix.extent()) * SizeOf(matrix.type);
  };
  std::vector<std::pair<const void*, int64_t>> memory = {{at.a, bytes(p.a)}, {at.b, bytes(p.b)}, {at.d, bytes(p.d)}};
  if (at.beta != 0) memory.emplace_back(at.c, bytes(p.c));
  const uint64_t biases = p.operation.sums_b() ? p.d.columns : p.d.rows;
  if (p.operation.has_bias()) {
    memory.emplace_back(p.operation.bias, static_cast<int64_t>(biases) * SizeOf(p.d.type));
  }
  if (p.operation.has_mask()) {
    memory.emplace_back(p.operation.mask, static_cast<int64_t>(p.d.columns) * p.operation.mask_bits / 8);
  }
  return memory;
}

}  // namespace partita::fake_cublaslt
