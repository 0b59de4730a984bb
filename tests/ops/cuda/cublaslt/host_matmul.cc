#include "tests/ops/cuda/cublaslt/host_matmul.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ops/host/products/gemm.h"
#include "runtime/base/bf16.h"

namespace partita::fake_cublaslt {
namespace {

template <typename T>
std::vector<T>& GemmWorkspace() {
  thread_local std::vector<T> workspace(static_cast<size_t>(kGemmWorkspaceElements) + 64 / sizeof(T));
  return workspace;
}

// Serial; `c` has n columns without gaps.
template <typename T>
void Multiply(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c) {
  T* const memory = GemmWorkspace<T>().data();
  Gemm(m, n, k, a, b, c, n, false, memory + (-reinterpret_cast<uintptr_t>(memory) % 64) / sizeof(T));
}

// The elements of a matrix in the type in which they are computed: a copy, unless they are of that type.
template <typename T, typename C>
class Widened {
 public:
  Widened(const void* data, const Matrix& matrix) : leading(matrix.leading) {
    const T* const from = static_cast<const T*>(data);
    if constexpr (std::is_same_v<T, C>) {
      elements = from;
    } else {
      const size_t rows = matrix.rows;
      copy_.resize(rows * matrix.columns);
      for (size_t j = 0; j < matrix.columns; ++j) {
        const T* const column = from + static_cast<int64_t>(j) * leading;
        for (size_t i = 0; i < rows; ++i) copy_[j * rows + i] = static_cast<C>(column[i]);
      }
      leading = static_cast<int64_t>(rows);
      elements = copy_.data();
    }
  }

  const C* elements;
  int64_t leading;

 private:
  std::vector<C> copy_;
};

// Bits behind the last row are not the caller's: they are set.
template <typename C>
void WriteMask(const Operation& operation, int64_t j, const std::vector<C>& column) {
  auto* const bytes = static_cast<uint8_t*>(const_cast<void*>(operation.mask)) + j * operation.mask_bits / 8;
  std::fill(bytes, bytes + operation.mask_bits / 8, uint8_t{0xFF});
  for (size_t i = 0; i < column.size(); ++i) {
    if (!(column[i] > 0)) bytes[i / 8] = static_cast<uint8_t>(bytes[i / 8] & ~(1U << (i % 8)));
  }
}

template <typename C>
void ReadMask(const Operation& operation, int64_t j, std::vector<C>& column) {
  const auto* const bytes = static_cast<const uint8_t*>(operation.mask) + j * operation.mask_bits / 8;
  for (size_t i = 0; i < column.size(); ++i) {
    if ((bytes[i / 8] >> (i % 8) & 1) == 0) column[i] = 0;
  }
}

// The product of column j becomes what is stored of it.
template <typename Y, typename C>
void Finish(const Problem& p, const Operands& at, int64_t j, std::vector<C>& column) {
  const Operation& operation = p.operation;
  const C alpha = static_cast<C>(at.alpha), beta = static_cast<C>(at.beta);
  if (alpha != 1) {
    for (C& value : column) value *= alpha;
  }
  if (beta != 0) {  // else C is not read: it may be uninitialized
    const Y* const c = static_cast<const Y*>(at.c) + j * p.c.leading;
    for (size_t i = 0; i < column.size(); ++i) column[i] += beta * static_cast<C>(c[i]);
  }
  if (operation.adds_bias()) {
    const Y* const bias = static_cast<const Y*>(operation.bias);
    for (size_t i = 0; i < column.size(); ++i) column[i] += static_cast<C>(bias[i]);
  }
  if (operation.writes_mask()) WriteMask(operation, j, column);
  if (operation.clips()) {
    for (C& value : column) value = value < 0 ? 0 : value;
  }
  if (operation.reads_mask()) ReadMask(operation, j, column);
  Y* const d = static_cast<Y*>(at.d) + j * p.d.leading;
  for (size_t i = 0; i < column.size(); ++i) d[i] = static_cast<Y>(column[i]);
}

// result[o] = the sum over the inner dimension of an operand whose other dimension is o.
template <typename Y, typename C>
void SumOverInner(const C* elements, int64_t outer, int64_t inner, int64_t outer_stride, int64_t inner_stride,
                  void* result) {
  std::vector<double> sums(static_cast<size_t>(outer));
  if (inner_stride == 1) {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t k = 0; k < inner; ++k) sums[o] += elements[o * outer_stride + k];
    }
  } else {
    for (int64_t k = 0; k < inner; ++k) {
      for (int64_t o = 0; o < outer; ++o) sums[o] += elements[o * outer_stride + k * inner_stride];
    }
  }
  for (int64_t o = 0; o < outer; ++o) static_cast<Y*>(result)[o] = static_cast<Y>(sums[o]);
}

// T: of the operands, Y: of the result and of a bias; C: in which sums are made.
template <typename T, typename Y, typename C>
void ComputeAs(const Problem& p, const Operands& at) {
  const int64_t m = static_cast<int64_t>(p.d.rows), n = static_cast<int64_t>(p.d.columns);
  const int64_t k = static_cast<int64_t>(p.inner());
  const Widened<T, C> a(at.a, p.a), b(at.b, p.b);
  const bool ta = p.operation.a == CUBLAS_OP_T, tb = p.operation.b == CUBLAS_OP_T;
  // Element (i, l) of op(A), (l, j) of op(B).
  const int64_t a_i = ta ? a.leading : 1, a_l = ta ? 1 : a.leading;
  const int64_t b_j = tb ? 1 : b.leading, b_l = tb ? b.leading : 1;
  // Row-major, the transposed product: its rows are the columns of D.
  std::vector<C> product(static_cast<size_t>(m * n));
  Multiply<C>(n, m, k, {b.elements, b_j, b_l}, {a.elements, a_l, a_i}, product.data());
  std::vector<C> column(static_cast<size_t>(m));
  for (int64_t j = 0; j < n; ++j) {
    std::copy_n(product.data() + j * m, m, column.data());
    Finish<Y>(p, at, j, column);
  }
  void* const sums = const_cast<void*>(p.operation.bias);
  if (p.operation.sums_a()) SumOverInner<Y>(a.elements, m, k, a_i, a_l, sums);
  if (p.operation.sums_b()) SumOverInner<Y>(b.elements, n, k, b_j, b_l, sums);
}

void ComputeOne(const Problem& problem, const Operands& operands) {
  if (problem.a.type == CUDA_R_64F) return ComputeAs<double, double, double>(problem, operands);
  if (problem.a.type == CUDA_R_32F) return ComputeAs<float, float, float>(problem, operands);
  if (problem.d.type == CUDA_R_32F) return ComputeAs<Bf16, float, float>(problem, operands);
  return ComputeAs<Bf16, Bf16, float>(problem, operands);
}

}  // namespace

void Compute(const Problem& problem, const Operands& operands) {
  for (int32_t i = 0; i < problem.d.batch; ++i) {
    const auto at = [i](const void* first, const Matrix& matrix) {
      return static_cast<const char*>(first) + i * matrix.stride * SizeOf(matrix.type);
    };
    Operands one = operands;
    one.a = at(operands.a, problem.a);
    one.b = at(operands.b, problem.b);
    one.c = at(operands.c, problem.c);
    one.d = const_cast<char*>(at(operands.d, problem.d));
    ComputeOne(problem, one);
  }
}

}  // namespace partita::fake_cublaslt
