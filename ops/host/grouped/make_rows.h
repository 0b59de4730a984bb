// How rows of pixels are made (loops.h), in the vectors of the file that includes this.
#ifndef PARTITA_OPS_HOST_GROUPED_MAKE_ROWS_H_
#define PARTITA_OPS_HOST_GROUPED_MAKE_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "ops/host/grouped/vectors.h"

namespace partita {
namespace {

template <typename V, typename T>
PARTITA_INLINED void Finish(V sum, const GroupEpilogue<T>& epilogue, int64_t c, T* to) {
  if (epilogue.bias != nullptr) sum += Read<V>(epilogue.bias + c);
  if (epilogue.relu) sum = sum < V{} ? V{} : sum;
  Store(sum, to);
}

// What a row of the window adds to kCount pixels from m on, of the channels of a vector from c on: kColumns columns of
// the window meet pixels side by side, for the next pixel made kStep pixels further. Each pixel that is met is read
// once for kTogether channels of its group, from kFirst on.
template <int kFirst, int kTogether, int kDepth, int kCount, int kColumns, int kStep, typename T>
PARTITA_INLINED void AddTapRow(const TapColumns& columns, const TapRow<T>& row, const Compute<T>* filters, int64_t m,
                               int64_t c, WholeVector<T> (&sums)[kCount]) {
  using V = WholeVector<T>;
  constexpr int kMet = (kCount - 1) * kStep + kColumns;
  const int64_t channels = columns.channels, first = m * kStep + columns.columns[0].offset;
  V filter[kColumns][kTogether];
#pragma GCC unroll 16
  for (int q = 0; q < kColumns; ++q) {
    const int64_t place = row.place + columns.columns[q].place;
#pragma GCC unroll 16
    for (int channel = 0; channel < kTogether; ++channel) {
      filter[q][channel] = Read<V>(filters + (place * kDepth + kFirst + channel) * channels + c);
    }
  }
#pragma GCC unroll 32
  for (int i = 0; i < kMet; ++i) {
    if (first + i < 0 || first + i >= columns.pixels) continue;
    V met[kTogether];
    SpreadChannels<kDepth, kFirst, Compute<T>>(Load<V>(row.from + (first + i) * channels + c), met);
#pragma GCC unroll 16
    for (int channel = 0; channel < kTogether; ++channel) {
#pragma GCC unroll 16
      for (int k = 0; k < kCount; ++k) {
        const int q = i - k * kStep;
        if (q >= 0 && q < kColumns) sums[k] += filter[q][channel] * met[channel];
      }
    }
  }
}

template <int kDepth, int kCount, int kColumns, int kStep, typename T>
PARTITA_INLINED void MakeTile(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                              const GroupEpilogue<T>& epilogue, int64_t m, int64_t c, T* to) {
  constexpr int kTogether = std::min(kDepth, 4);  // their filters fill the registers
  WholeVector<T> sums[kCount] = {};
  for (const TapRow<T>& row : rows) {
    AddTapRow<0, kTogether, kDepth, kCount, kColumns, kStep>(columns, row, filters, m, c, sums);
    if constexpr (kDepth == 8) AddTapRow<4, 4, 8, kCount, kColumns, kStep>(columns, row, filters, m, c, sums);
  }
#pragma GCC unroll 16
  for (int k = 0; k < kCount; ++k) {
    Finish(sums[k], epilogue, c, to + (m + k) * columns.made_step * columns.channels + c);
  }
}

// Channels are innermost, so that images are read as they lie in memory. The last tile and the last vector begin before
// their places, if they would end behind the row or the pixel.
template <int kDepth, int kCount, int kColumns, int kStep, typename T>
PARTITA_VECTORS void MakeTiles(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                               const GroupEpilogue<T>& epilogue, T* to) {
  for (int64_t m = 0; m < columns.made; m += kCount) {
    const int64_t first = std::min(m, columns.made - kCount);
    for (int64_t c = 0; c < columns.channels; c += kLanesOf<T>) {
      MakeTile<kDepth, kCount, kColumns, kStep>(columns, rows, filters, epilogue, first,
                                                std::min(c, columns.channels - kLanesOf<T>), to);
    }
  }
}

// Tiles that fill a row of `made` pixels best; null: there are too few. Those of several channels in a group want more
// registers.
template <int kDepth, int kColumns, int kStep, typename T>
RowMaker<T> TilesFor(int64_t made) {
  if (made < 4) return nullptr;
  const bool sevens = made % 7 == 0 && (kDepth > 1 || made % 8 != 0);
  if (sevens) return MakeTiles<kDepth, 7, kColumns, kStep, T>;
  if constexpr (kDepth == 1) {
    if (made >= 7) return MakeTiles<1, 8, kColumns, kStep, T>;
  }
  return MakeTiles<kDepth, 4, kColumns, kStep, T>;
}

template <int kDepth, typename T>
RowMaker<T> TilesOfGroups(const TapColumns& columns) {
  switch (KindOf(columns)) {
    case 11:
      return TilesFor<kDepth, 1, 1, T>(columns.made);
    case 21:
      return TilesFor<kDepth, 2, 1, T>(columns.made);
    case 31:
      return TilesFor<kDepth, 3, 1, T>(columns.made);
    case 32:
      return TilesFor<kDepth, 3, 2, T>(columns.made);
    default:
      return nullptr;
  }
}

template <typename T>
RowMaker<T> TilesOfChannels(const TapColumns& columns) {
  switch (KindOf(columns)) {
    case 41:
      return TilesFor<1, 4, 1, T>(columns.made);
    case 51:
      return TilesFor<1, 5, 1, T>(columns.made);
    case 71:
      return TilesFor<1, 7, 1, T>(columns.made);
    case 52:
      return TilesFor<1, 5, 2, T>(columns.made);
    case 72:
      return TilesFor<1, 7, 2, T>(columns.made);
    default:
      return TilesOfGroups<1, T>(columns);
  }
}

// kCount pixels from m on, where all columns, whichever they are, meet pixels.
template <typename V, int kCount, typename T>
PARTITA_INLINED void MakeInside(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                                const GroupEpilogue<T>& epilogue, int64_t m, int64_t c, T* to) {
  const int64_t channels = columns.channels, step = columns.step * channels;
  V sums[kCount] = {};
  for (const TapRow<T>& row : rows) {
    for (const TapColumn& column : columns.columns) {
      const V filter = Read<V>(filters + (row.place + column.place) * channels + c);
      const T* const from = row.from + (m * columns.step + column.offset) * channels + c;
#pragma GCC unroll 16
      for (int k = 0; k < kCount; ++k) sums[k] += filter * Load<V>(from + k * step);
    }
  }
#pragma GCC unroll 16
  for (int k = 0; k < kCount; ++k) Finish(sums[k], epilogue, c, to + (m + k) * columns.made_step * channels + c);
}

// A pixel of which some columns may meet none.
template <typename V, typename T>
PARTITA_INLINED void MakePixel(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                               const GroupEpilogue<T>& epilogue, int64_t m, int64_t c, T* to) {
  const int64_t channels = columns.channels;
  V sum = {};
  for (const TapColumn& column : columns.columns) {
    const int64_t pixel = m * columns.step + column.offset;
    if (pixel < 0 || pixel >= columns.pixels) continue;
    for (const TapRow<T>& row : rows) {
      sum += Read<V>(filters + (row.place + column.place) * channels + c) * Load<V>(row.from + pixel * channels + c);
    }
  }
  Finish(sum, epilogue, c, to + m * columns.made_step * channels + c);
}

template <typename T>
PARTITA_VECTORS void MakeRowOfAny(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                                  const GroupEpilogue<T>& epilogue, T* to) {
  constexpr int kCount = 4;
  const IndexRange inside = columns.inside;
  const auto pixels = [&](int64_t begin, int64_t end) PARTITA_VECTORS {
    for (int64_t m = begin; m < end; ++m) {
      ForVectors<kVectorBytes, T>(0, columns.channels, [&]<typename V>(int64_t c) PARTITA_VECTORS {
        MakePixel<V>(columns, rows, filters, epilogue, m, c, to);
      });
    }
  };
  pixels(0, inside.begin);
  int64_t m = inside.begin;
  for (; m + kCount <= inside.end; m += kCount) {
    ForVectors<kVectorBytes, T>(0, columns.channels, [&]<typename V>(int64_t c) PARTITA_VECTORS {
      MakeInside<V, kCount>(columns, rows, filters, epilogue, m, c, to);
    });
  }
  pixels(m, columns.made);
}

template <typename T>
RowMaker<T> RowMakerOf(const TapColumns& columns) {
  RowMaker<T> tiles = nullptr;
  if constexpr (kMakesTiles) {
    const bool tiled = AreSideBySide(columns) && FillsVectors<T>(columns);
    if (tiled && columns.depth == 1) tiles = TilesOfChannels<T>(columns);
    if (tiled && columns.depth == 4) tiles = TilesOfGroups<4, T>(columns);
    if constexpr (kLanesOf<T> >= 8) {
      if (tiled && columns.depth == 8) tiles = TilesOfGroups<8, T>(columns);
    }
  }
  return tiles == nullptr && columns.depth == 1 ? MakeRowOfAny<T> : tiles;
}

}  // namespace
}  // namespace partita

#endif  // PARTITA_OPS_HOST_GROUPED_MAKE_ROWS_H_
