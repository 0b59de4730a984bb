// Goto and van de Geijn's scheme ("Anatomy of High-Performance Matrix Multiplication", 2008): blocks of both operands
// are packed into panels that lie in the caches, and a kernel of 4 rows and two vectors works in registers.
#include "ops/host/products/gemm.h"

#include <algorithm>
#include <cstring>

#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

constexpr int64_t kDepth = 256;    // of a packed block
constexpr int64_t kRows = 96;      // of a packed block of a
constexpr int64_t kColumns = 512;  // of a packed block of b
constexpr int64_t kMicroRows = 4;

template <typename T>
struct Vector {
  static constexpr int64_t kLanes = 64 / sizeof(T);
  typedef T Type __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
};

template <typename T>
constexpr int64_t kMicroColumns = 2 * Vector<T>::kLanes;

// Copies m x k of `from` into panels of `width` rows, the panel's k columns one after the other; missing rows are zero.
template <typename T>
inline __attribute__((always_inline)) void Pack(int64_t m, int64_t k, MatrixView<T> from, int64_t width, T* to) {
  for (int64_t i = 0; i < m; i += width) {
    const int64_t rows = std::min(width, m - i);
    for (int64_t l = 0; l < k; ++l) {
      const T* column = from.data + i * from.row_stride + l * from.column_stride;
      for (int64_t r = 0; r < rows; ++r) to[r] = column[r * from.row_stride];
      for (int64_t r = rows; r < width; ++r) to[r] = 0;
      to += width;
    }
  }
}

// out[r][j] = sum over l of a[l][r] b[l][j], for one panel of each.
template <typename T>
inline __attribute__((always_inline)) void MicroKernel(int64_t k, const T* a, const T* b, T* out) {
  using V = typename Vector<T>::Type;
  constexpr int64_t kLanes = Vector<T>::kLanes;
  V sum[kMicroRows][2] = {};
  for (int64_t l = 0; l < k; ++l) {
    const V b0 = *reinterpret_cast<const V*>(b), b1 = *reinterpret_cast<const V*>(b + kLanes);
    for (int64_t r = 0; r < kMicroRows; ++r) {
      sum[r][0] += a[r] * b0;
      sum[r][1] += a[r] * b1;
    }
    a += kMicroRows;
    b += 2 * kLanes;
  }
  std::memcpy(out, sum, sizeof(sum));
}

// c (+)= the product of the packed blocks.
template <typename T>
inline __attribute__((always_inline)) void Block(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c,
                                                 int64_t c_stride, bool accumulate) {
  T out[kMicroRows * kMicroColumns<T>];
  for (int64_t j = 0; j < n; j += kMicroColumns<T>) {
    const int64_t columns = std::min(kMicroColumns<T>, n - j);
    for (int64_t i = 0; i < m; i += kMicroRows) {
      MicroKernel(k, a + i * k, b + j * k, out);
      for (int64_t r = 0; r < std::min(kMicroRows, m - i); ++r) {
        T* row = c + (i + r) * c_stride + j;
        const T* sums = out + r * kMicroColumns<T>;
        for (int64_t l = 0; l < columns; ++l) row[l] = accumulate ? row[l] + sums[l] : sums[l];
      }
    }
  }
}

template <typename T>
inline __attribute__((always_inline)) void AnyGemm(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b,
                                                   T* c, int64_t c_stride, bool accumulate, T* workspace) {
  T* packed_a = workspace;
  T* packed_b = workspace + kRows * kDepth;
  if (k == 0 && !accumulate) {
    for (int64_t i = 0; i < m; ++i) std::fill(c + i * c_stride, c + i * c_stride + n, T(0));
  }
  for (int64_t l = 0; l < k; l += kDepth) {
    const int64_t depth = std::min(kDepth, k - l);
    const bool add = accumulate || l > 0;
    for (int64_t j = 0; j < n; j += kColumns) {
      const int64_t columns = std::min(kColumns, n - j);
      const T* b_corner = b.data + l * b.row_stride + j * b.column_stride;
      Pack<T>(columns, depth, {b_corner, b.column_stride, b.row_stride}, kMicroColumns<T>, packed_b);
      for (int64_t i = 0; i < m; i += kRows) {
        const int64_t rows = std::min(kRows, m - i);
        const T* a_corner = a.data + i * a.row_stride + l * a.column_stride;
        Pack<T>(rows, depth, {a_corner, a.row_stride, a.column_stride}, kMicroRows, packed_a);
        Block(rows, columns, depth, packed_a, packed_b, c + i * c_stride + j, c_stride, add);
      }
    }
  }
}

PARTITA_TARGET_CLONES void GemmF32(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c,
                                   int64_t c_stride, bool accumulate, float* workspace) {
  AnyGemm(m, n, k, a, b, c, c_stride, accumulate, workspace);
}

PARTITA_TARGET_CLONES void GemmF64(int64_t m, int64_t n, int64_t k, MatrixView<double> a, MatrixView<double> b,
                                   double* c, int64_t c_stride, bool accumulate, double* workspace) {
  AnyGemm(m, n, k, a, b, c, c_stride, accumulate, workspace);
}

}  // namespace

void Gemm(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c, int64_t c_stride,
          bool accumulate, float* workspace) {
  GemmF32(m, n, k, a, b, c, c_stride, accumulate, workspace);
}

void Gemm(int64_t m, int64_t n, int64_t k, MatrixView<double> a, MatrixView<double> b, double* c, int64_t c_stride,
          bool accumulate, double* workspace) {
  GemmF64(m, n, k, a, b, c, c_stride, accumulate, workspace);
}

}  // namespace partita
