// Where batches come from: any rows of any global batch, in any order, from any thread.
//
// The global batch is one thing for all ranks. A rank asks for its rows of it, the block of the input's layout, which
// may be empty; ranks that ask for the same rows get the same bytes. Nothing here knows how many ranks there are.
#ifndef PARTITA_RUNTIME_DATA_BATCH_SOURCE_H_
#define PARTITA_RUNTIME_DATA_BATCH_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "graph/value/dtype.h"
#include "runtime/data/image_dataset.h"

namespace partita {

// Rows [begin, end) of the global batch.
struct Rows {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const Rows&) const = default;
};

// Where the rows go: memory of the caller, exactly as large as they are.
struct BatchBuffers {
  DType dtype = DType::kF32;     // of images and weights: kF32 or kF64
  std::span<std::byte> images;   // [rows, height, width, channels]
  std::span<int32_t> labels;     // [rows]
  std::span<std::byte> weights;  // [rows], 1 for a sample, 0 for a row that only fills the batch up
};

// Thread-safe: all methods are const and may be called at once.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  virtual ImageShape shape() const = 0;
  virtual int64_t classes() const = 0;
  virtual int64_t samples() const = 0;            // in one epoch, each counted once
  virtual int64_t batch_rows() const = 0;         // of a global batch, filled-up rows included
  virtual int64_t batches_per_epoch() const = 0;  // at least 1

  // Writes rows of batch `batch` (counted from 0, on over the epochs: epoch = batch / batches_per_epoch()).
  // Rows or buffers that do not fit are a bug of the caller (CHECK); an error is one of reading the data.
  virtual absl::Status Fill(int64_t batch, Rows rows, const BatchBuffers& out) const = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_BATCH_SOURCE_H_
