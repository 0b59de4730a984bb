// The batch norms that a GPU computes in one launch forward and one backward.
#ifndef PARTITA_OPS_FUNCTORS_SMALL_BATCH_NORM_H_
#define PARTITA_OPS_FUNCTORS_SMALL_BATCH_NORM_H_

#include <cstdint>

namespace partita {

// A block reads all rows of a few channels and keeps them in registers until it has their statistics. It moves at least
// a sector of 32 bytes of each row, so 4096 rows keep one multiprocessor busy for 1 to 2 us a tensor, about as long as
// the launch that is saved takes. Larger batch norms need more blocks than there are groups of channels.
inline constexpr int64_t kSmallBatchNormRows = 4096;
// Of one channel: 256 threads of 255 registers keep four such channels of two tensors.
inline constexpr int64_t kSmallBatchNormBytes = 16 * 1024;

// `rows`: of channels, all that the rank holds, in whichever number of groups.
inline bool IsSmallBatchNorm(int64_t rows, int64_t element_bytes) {
  return rows <= kSmallBatchNormRows && rows * element_bytes <= kSmallBatchNormBytes;
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_SMALL_BATCH_NORM_H_
