// The product of two matrices in which sums are minima and products are sums: all the arithmetic of an elimination.
#ifndef PARTITA_PARTITIONER_SEARCH_ELIMINATION_MIN_PLUS_H_
#define PARTITA_PARTITIONER_SEARCH_ELIMINATION_MIN_PLUS_H_

#include <cstdint>

namespace partita {

// out[i, j] = min over k of left[i, k] + right[k, j]. All three are dense, row by row, and do not overlap.
void MinPlus(const double* left, const double* right, int64_t rows, int64_t inner, int64_t columns, double* out);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_ELIMINATION_MIN_PLUS_H_
