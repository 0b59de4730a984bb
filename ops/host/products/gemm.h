// Matrix product for f32 and f64 where oneDNN does not serve (it refuses f64).
#ifndef PARTITA_OPS_HOST_PRODUCTS_GEMM_H_
#define PARTITA_OPS_HOST_PRODUCTS_GEMM_H_

#include <cstdint>

namespace partita {

// Element (i, j) lies at data[i * row_stride + j * column_stride].
template <typename T>
struct MatrixView {
  const T* data;
  int64_t row_stride, column_stride;
};

// Elements of workspace that Gemm uses, for all sizes.
inline constexpr int64_t kGemmWorkspaceElements = 256 * (96 + 512);

// c[i * c_stride + j] = sum over l of a(i, l) b(l, j), or += if `accumulate`; 0 <= i < m, j < n, l < k. Sizes may be 0.
// `workspace` is 64-byte aligned. Serial; the order of the sums depends on k alone.
void Gemm(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c, int64_t c_stride,
          bool accumulate, float* workspace);
void Gemm(int64_t m, int64_t n, int64_t k, MatrixView<double> a, MatrixView<double> b, double* c, int64_t c_stride,
          bool accumulate, double* workspace);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_PRODUCTS_GEMM_H_
