// The innermost loops of convolutions whose groups have few channels, as many out as in: a vector holds the channels of
// whole groups, and each of its lanes meets the channels of its group.
//
// A row of outputs (or of an input's gradient) is made of taps: place `place` of the window meets pixel
// `step * m + offset` of the row `from` for the m-th pixel made. Filters are laid out beforehand as [places of the
// window, channels of a group that are met, channels made].
#ifndef PARTITA_OPS_HOST_GROUPED_LOOPS_H_
#define PARTITA_OPS_HOST_GROUPED_LOOPS_H_

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
  int64_t depth = 1;  // channels of a group
  IndexRange inside;  // of those made, which meet pixels with all columns
};

// What is done with a sum before it is stored.
template <typename T>
struct GroupEpilogue {
  const Compute<T>* bias = nullptr;  // of the channels; null: none
  bool relu = false;
};

// Sums over all taps, to `to`.
template <typename T>
using RowMaker = void (*)(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                          const GroupEpilogue<T>& epilogue, T* to);
// Adds what a row `dy` of outputs gives to the gradient of the filters; `made` are the pixels of dy.
template <typename T>
using FilterAdder = void (*)(const TapColumns& columns, std::span<const TapRow<T>> rows, const T* dy,
                             Compute<T>* filters);

// T: f32, f64 or bf16, which is computed in f32 and rounded once. A function for rows of some columns; null: there is
// none. Groups of one channel always have one.
template <typename T>
struct GroupLoops {
  const char* name;  // of the vectors
  RowMaker<T> (*row_maker)(const TapColumns& columns);
  FilterAdder<T> (*filter_adder)(const TapColumns& columns);
};

// Those that this machine can run, of the widest vectors first.
template <typename T>
const std::vector<const GroupLoops<T>*>& GroupLoopsOfThisMachine();

}  // namespace partita

#endif  // PARTITA_OPS_HOST_GROUPED_LOOPS_H_
