#include "partitioner/search/elimination/min_plus.h"

#include <limits>

namespace partita {
namespace {

// A tile of `out` stays in registers while the inner dimension passes; its size is a constant, so that compilers unroll
// it into vector instructions.
template <int kRows, int kColumns>
void Tile(const double* left, const double* right, int64_t inner, int64_t columns, double* out) {
  double least[kRows][kColumns];
  for (auto& row : least) {
    for (double& entry : row) entry = std::numeric_limits<double>::infinity();
  }
  for (int64_t k = 0; k < inner; ++k) {
    const double* row = right + k * columns;
    for (int i = 0; i < kRows; ++i) {
      const double one = left[i * inner + k];
      for (int j = 0; j < kColumns; ++j) least[i][j] = one + row[j] < least[i][j] ? one + row[j] : least[i][j];
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) out[i * columns + j] = least[i][j];
  }
}

template <int kRows>
void Rows(const double* left, const double* right, int64_t inner, int64_t columns, double* out) {
  constexpr int kTile = 4;
  int64_t j = 0;
  for (; j + kTile <= columns; j += kTile) Tile<kRows, kTile>(left, right + j, inner, columns, out + j);
  for (; j < columns; ++j) Tile<kRows, 1>(left, right + j, inner, columns, out + j);
}

}  // namespace

void MinPlus(const double* left, const double* right, int64_t rows, int64_t inner, int64_t columns, double* out) {
  constexpr int kTile = 4;
  int64_t i = 0;
  for (; i + kTile <= rows; i += kTile) Rows<kTile>(left + i * inner, right, inner, columns, out + i * columns);
  for (; i < rows; ++i) Rows<1>(left + i * inner, right, inner, columns, out + i * columns);
}

}  // namespace partita
