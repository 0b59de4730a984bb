#include "ops/host/kernel/column_rows.h"

#include <cstring>

#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

template <int64_t kElements>
inline __attribute__((always_inline)) void CopyFixed(const float* from, float* to) {
  std::memcpy(to, from, kElements * sizeof(float));
}

}  // namespace

// Rows are a few vectors; to call memcpy for each would cost more.
PARTITA_TARGET_CLONES void CopyRows(const float* from, int64_t from_pitch, float* to, int64_t to_pitch, int64_t rows,
                                    int64_t channels) {
  for (int64_t r = 0; r < rows; ++r, from += from_pitch, to += to_pitch) {
    int64_t c = 0;
    for (; c + 16 <= channels; c += 16) CopyFixed<16>(from + c, to + c);
    if (c + 8 <= channels) {
      CopyFixed<8>(from + c, to + c);
      c += 8;
    }
    if (c + 4 <= channels) {
      CopyFixed<4>(from + c, to + c);
      c += 4;
    }
    for (; c < channels; ++c) to[c] = from[c];
  }
}

}  // namespace partita
