// How gradients of filters are added up (loops.h), in the vectors of the file that includes this.
#ifndef PARTITA_OPS_HOST_GROUPED_ADD_FILTERS_H_
#define PARTITA_OPS_HOST_GROUPED_ADD_FILTERS_H_

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "ops/host/grouped/vectors.h"

namespace partita {
namespace {

// The sums of a row and kColumns columns of the window, any, over the pixels of dy.
template <typename V, int kColumns, typename T>
PARTITA_INLINED void AddPlaces(const TapColumns& columns, const TapRow<T>& row, const TapColumn* taps, const T* dy,
                               int64_t c, Compute<T>* filters) {
  const int64_t channels = columns.channels;
  V sums[kColumns] = {};
  for (int64_t m = 0; m < columns.made; ++m) {
    const V cotangent = Load<V>(dy + m * channels + c);
#pragma GCC unroll 16
    for (int q = 0; q < kColumns; ++q) {
      const int64_t pixel = m * columns.step + taps[q].offset;
      if (pixel >= 0 && pixel < columns.pixels) sums[q] += cotangent * Load<V>(row.from + pixel * channels + c);
    }
  }
#pragma GCC unroll 16
  for (int q = 0; q < kColumns; ++q) {
    Compute<T>* const to = filters + (row.place + taps[q].place) * channels + c;
    Write<V>(Read<V>(to) + sums[q], to);
  }
}

// Adds a vector, but for its first `taken` lanes.
template <typename V, typename A>
PARTITA_INLINED void AddTo(A* to, const V& sum, int64_t taken) {
  if (taken == 0) return Write<V>(Read<V>(to) + sum, to);
  A lanes[sizeof(V) / sizeof(A)];
  Write(sum, lanes);
  for (size_t lane = static_cast<size_t>(taken); lane < std::size(lanes); ++lane) to[lane] += lanes[lane];
}

// The sums of several rows and of columns side by side over kCount pixels of dy from m on: each pixel that is met is
// read once.
template <int kCount, int kStep, int kDepth, int kRows, int kColumns, typename T>
PARTITA_INLINED void AddTile(const TapColumns& columns, const TapRow<T>* rows, const T* dy, int64_t m, int64_t c,
                             WholeVector<T> (&sums)[kRows][kColumns][kDepth]) {
  using V = WholeVector<T>;
  constexpr int kMet = (kCount - 1) * kStep + kColumns;
  const int64_t channels = columns.channels, first = m * kStep + columns.columns[0].offset;
  V cotangents[kCount];
#pragma GCC unroll 16
  for (int k = 0; k < kCount; ++k) cotangents[k] = Load<V>(dy + (m + k) * channels + c);
#pragma GCC unroll 32
  for (int i = 0; i < kMet; ++i) {
    if (first + i < 0 || first + i >= columns.pixels) continue;
#pragma GCC unroll 16
    for (int p = 0; p < kRows; ++p) {
      V met[kDepth];
      SpreadChannels<kDepth, 0, Compute<T>>(Load<V>(rows[p].from + (first + i) * channels + c), met);
#pragma GCC unroll 16
      for (int channel = 0; channel < kDepth; ++channel) {
#pragma GCC unroll 16
        for (int k = 0; k < kCount; ++k) {
          const int q = i - k * kStep;
          if (q >= 0 && q < kColumns) sums[p][q][channel] += cotangents[k] * met[channel];
        }
      }
    }
  }
}

// Of a vector from c on, the sums of whose first `taken` channels others have added.
template <int kDepth, int kRows, int kColumns, int kStep, typename T>
PARTITA_INLINED void AddRowsInTiles(const TapColumns& columns, const TapRow<T>* rows, const T* dy, int64_t c,
                                    int64_t taken, Compute<T>* filters) {
  WholeVector<T> sums[kRows][kColumns][kDepth] = {};
  int64_t m = 0;
  if (columns.made % 7 == 0) {
    for (; m < columns.made; m += 7) AddTile<7, kStep>(columns, rows, dy, m, c, sums);
  }
  for (; m + 4 <= columns.made; m += 4) AddTile<4, kStep>(columns, rows, dy, m, c, sums);
  for (; m < columns.made; ++m) AddTile<1, kStep>(columns, rows, dy, m, c, sums);
#pragma GCC unroll 16
  for (int p = 0; p < kRows; ++p) {
#pragma GCC unroll 16
    for (int q = 0; q < kColumns; ++q) {
      Compute<T>* to = filters + (rows[p].place + columns.columns[q].place) * kDepth * columns.channels + c;
#pragma GCC unroll 16
      for (int channel = 0; channel < kDepth; ++channel, to += columns.channels) {
        AddTo(to, sums[p][q][channel], taken);
      }
    }
  }
}

template <int kDepth, int kRows, int kColumns, int kStep, typename T>
PARTITA_VECTORS void AddTiles(const TapColumns& columns, std::span<const TapRow<T>> rows, const T* dy,
                              Compute<T>* filters) {
  for (int64_t c = 0; c < columns.channels; c += kLanesOf<T>) {
    const int64_t begin = std::min(c, columns.channels - kLanesOf<T>), taken = c - begin;
    size_t p = 0;
    for (; p + kRows <= rows.size(); p += kRows) {
      AddRowsInTiles<kDepth, kRows, kColumns, kStep>(columns, &rows[p], dy, begin, taken, filters);
    }
    for (; p < rows.size(); ++p) {
      AddRowsInTiles<kDepth, 1, kColumns, kStep>(columns, &rows[p], dy, begin, taken, filters);
    }
  }
}

template <int kDepth, int kRows, typename T>
FilterAdder<T> AddingTilesOfGroups(const TapColumns& columns) {
  switch (KindOf(columns)) {
    case 31:
      return AddTiles<kDepth, kRows, 3, 1, T>;
    case 32:
      return AddTiles<kDepth, kRows, 3, 2, T>;
    default:
      return nullptr;
  }
}

template <typename T>
FilterAdder<T> AddingTilesOfChannels(const TapColumns& columns) {
  switch (KindOf(columns)) {
    case 51:
      return AddTiles<1, 2, 5, 1, T>;
    case 52:
      return AddTiles<1, 2, 5, 2, T>;
    case 71:
      return AddTiles<1, 1, 7, 1, T>;
    case 72:
      return AddTiles<1, 1, 7, 2, T>;
    default:
      return AddingTilesOfGroups<1, 3, T>(columns);
  }
}

template <typename T>
PARTITA_VECTORS void AddFiltersOfAny(const TapColumns& columns, std::span<const TapRow<T>> rows, const T* dy,
                                     Compute<T>* filters) {
  ForVectors<kVectorBytes, T>(0, columns.channels, [&]<typename V>(int64_t c) PARTITA_VECTORS {
    const TapColumn* const taps = columns.columns.data();
    const size_t count = columns.columns.size();
    for (const TapRow<T>& row : rows) {
      size_t q = 0;
      for (; q + 3 <= count; q += 3) AddPlaces<V, 3>(columns, row, taps + q, dy, c, filters);
      for (; q < count; ++q) AddPlaces<V, 1>(columns, row, taps + q, dy, c, filters);
    }
  });
}

template <typename T>
FilterAdder<T> FilterAdderOf(const TapColumns& columns) {
  FilterAdder<T> tiles = nullptr;
  if constexpr (kMakesTiles) {
    const bool tiled = AreSideBySide(columns) && FillsVectors<T>(columns);
    if (tiled && columns.depth == 1) tiles = AddingTilesOfChannels<T>(columns);
    if (tiled && columns.depth == 4) tiles = AddingTilesOfGroups<4, 1, T>(columns);
    if constexpr (kLanesOf<T> >= 8) {
      if (tiled && columns.depth == 8) tiles = AddingTilesOfGroups<8, 1, T>(columns);
    }
  }
  return tiles == nullptr && columns.depth == 1 ? AddFiltersOfAny<T> : tiles;
}

}  // namespace
}  // namespace partita

#endif  // PARTITA_OPS_HOST_GROUPED_ADD_FILTERS_H_
