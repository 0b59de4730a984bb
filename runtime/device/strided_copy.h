// Equal runs of bytes at regular distances: what a copy between boxes of two dense tensors comes to.
#ifndef PARTITA_RUNTIME_DEVICE_STRIDED_COPY_H_
#define PARTITA_RUNTIME_DEVICE_STRIDED_COPY_H_

#include <cstdint>
#include <vector>

namespace partita {

struct StridedCopy {
  struct Dimension {
    int64_t size;
    int64_t from_stride, to_stride;  // bytes
  };
  static constexpr int kMostDimensions = 16;

  const char* from = nullptr;
  char* to = nullptr;
  int64_t run_bytes = 0;              // 0: nothing to copy
  std::vector<Dimension> dimensions;  // of the runs, the innermost first; empty: one run; at most kMostDimensions

  // One element. Keeps the memory of `dimensions`.
  void Begin(const void* from, void* to, int64_t element_bytes);

  // All that it copies so far `size` (> 0) times, at these distances in bytes. Joined with what is inside where that is
  // one run, or one distance, in both: a block of whole rows is a single run.
  void Repeat(int64_t size, int64_t from_stride, int64_t to_stride);
};

// Copies here and now, in the host's memory.
void RunStridedCopy(const StridedCopy& copy);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_STRIDED_COPY_H_
