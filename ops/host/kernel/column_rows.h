// Rows of channels that lie dense, or as columns of wider rows. Loops that take several rows for one want them dense;
// so columns go through a buffer of a few rows, which stays in the first cache.
#ifndef PARTITA_OPS_HOST_KERNEL_COLUMN_ROWS_H_
#define PARTITA_OPS_HOST_KERNEL_COLUMN_ROWS_H_

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "ops/values/columns.h"
#include "runtime/base/status.h"

namespace partita {

// T is const float of what is read, float of what is written. A pitch of 0: dense (PitchOf).
template <typename T>
struct ColumnRows {
  T* first;
  int64_t pitch;
};

// Wide rows that are given to a loop at once where a tensor lies in columns. What a loop does with rows must not depend
// on where such pieces end: if it takes several at a time, their number divides this one.
inline constexpr int64_t kWideRowsOfPiece = 8;
// Of columns.
inline constexpr int64_t kMostColumns = 2048;

// `rows` rows of `channels`, from one pitch to another.
void CopyRows(const float* from, int64_t from_pitch, float* to, int64_t to_pitch, int64_t rows, int64_t channels);

// Refuses what is too wide to be taken as columns.
inline absl::Status RequireNarrowColumns(const LocalNode& node) {
  for (size_t i = 0; i < node.within.size(); ++i) {
    if (!node.HasColumns(i) || node.operand(i)->shape().back() <= kMostColumns) continue;
    return InvalidArgument("{} columns of wider rows, more than {}", node.operand(i)->shape().back(), kMostColumns);
  }
  return absl::OkStatus();
}

// Elements [begin, begin + n) of a tensor in columns, whole rows, while it lives: what is read is copied in first, what
// is written out last.
template <typename T>
class DensePiece {
 public:
  DensePiece(const ColumnRows<T>& all, int64_t channels, int64_t begin, int64_t n)
      : all_(all), first_(all.first + begin / channels * all.pitch), channels_(channels), rows_(n / channels) {
    if constexpr (std::is_const_v<T>) {
      if (all.pitch > 0) CopyRows(first_, all.pitch, buffer_, channels, rows_, channels);
    }
    data_ = all.pitch > 0 ? buffer_ : all.first + begin;
  }
  ~DensePiece() {
    if constexpr (!std::is_const_v<T>) {
      if (all_.pitch > 0) CopyRows(buffer_, channels_, first_, all_.pitch, rows_, channels_);
    }
  }
  DensePiece(const DensePiece&) = delete;
  DensePiece& operator=(const DensePiece&) = delete;

  T* data() const { return data_; }

 private:
  ColumnRows<T> all_;
  T* first_;
  int64_t channels_, rows_;
  T* data_;
  float buffer_[kWideRowsOfPiece * kMostColumns];
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_COLUMN_ROWS_H_
