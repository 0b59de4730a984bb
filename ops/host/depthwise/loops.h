// The innermost loops of depthwise convolutions: each channel has a filter of its own, so that channels lie in vectors
// and pixels are far apart.
//
// Filters are laid out as [places of the window, channels] beforehand. A row of outputs (or of an input's gradient) is
// made of taps: place `place` of the window meets pixel `step * m + offset` of the row `from` for the m-th pixel made.
#ifndef PARTITA_OPS_HOST_DEPTHWISE_LOOPS_H_
#define PARTITA_OPS_HOST_DEPTHWISE_LOOPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ops/functors/geometry.h"
#include "runtime/base/bf16.h"

namespace partita {

// A row of the window that lies in the image: its first place, and where the row of pixels is that it meets.
template <typename T>
struct TapRow {
  int64_t place = 0;
  const T* from = nullptr;
};

// A column of the window, and which pixel it meets for the first one made.
struct TapColumn {
  int64_t place = 0, offset = 0;
};

// What all rows of a kind have in common.
struct TapColumns {
  std::vector<TapColumn> columns;
  int64_t step = 1;       // pixels, of the row that is met, from one pixel made to the next
  int64_t pixels = 0;     // of the row that is met
  int64_t made = 0;       // pixels to make
  int64_t made_step = 1;  // pixels of the row they lie in, from one to the next
  int64_t channels = 0;
  IndexRange inside;  // of those made, which meet pixels with all columns
};

// What is done with a sum before it is stored.
template <typename T>
struct DepthwiseEpilogue {
  const Compute<T>* bias = nullptr;  // of the channels; null: none
  bool relu = false;
};

// T: f32, f64 or bf16, which is computed in f32 and rounded once.
template <typename T>
struct DepthwiseLoops {
  const char* name;  // of the vectors

  // Sums over all taps, to `to`; `filters`: [places, channels].
  void (*make_row)(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                   const DepthwiseEpilogue<T>& epilogue, T* to);
  // Adds what a row `dy` of outputs gives to the gradient [places, channels] of the filters; there `made` are its
  // pixels.
  void (*add_filters)(const TapColumns& columns, std::span<const TapRow<T>> rows, const T* dy, Compute<T>* filters);
};

// Those that this machine can run, of the widest vectors first.
template <typename T>
const std::vector<const DepthwiseLoops<T>*>& DepthwiseLoopsOfThisMachine();

}  // namespace partita

#endif  // PARTITA_OPS_HOST_DEPTHWISE_LOOPS_H_
