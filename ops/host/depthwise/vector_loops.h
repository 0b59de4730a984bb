// The loops of loops.h, for the file that includes this, which says what vectors they are made of: PARTITA_VECTORS is
// their target, kVectorBytes their size, and kMakesTiles whether there are registers for tiles of pixels.
#ifndef PARTITA_OPS_HOST_DEPTHWISE_VECTOR_LOOPS_H_
#define PARTITA_OPS_HOST_DEPTHWISE_VECTOR_LOOPS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ops/host/depthwise/loops.h"

#define PARTITA_INLINED PARTITA_VECTORS inline __attribute__((always_inline))

namespace partita {
namespace {

// `kBytes` of T; a single one is T itself.
template <typename T, int kBytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));
};
template <typename T>
struct VectorOf<T, int{sizeof(T)}> {
  using Type = T;
};

template <typename T>
constexpr int64_t kLanesOf = kVectorBytes / static_cast<int>(sizeof(Compute<T>));
template <typename T>
using WholeVector = typename VectorOf<Compute<T>, kVectorBytes>::Type;

// A vector at any address.
template <typename V, typename T>
PARTITA_INLINED V Read(const T* from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}
template <typename V, typename T>
PARTITA_INLINED void Write(const V& value, T* to) {
  std::memcpy(static_cast<void*>(to), &value, sizeof(V));
}

// The bits of a vector of floats, and those of as many elements of bf16.
template <typename V>
using BitsOf = typename VectorOf<uint32_t, sizeof(V)>::Type;
template <typename V>
using HalfOf = typename VectorOf<uint16_t, sizeof(V) / 2>::Type;

// The same of elements that are computed in those of V.
template <typename V, typename T>
PARTITA_INLINED V Load(const T* from) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return Read<V>(from);
  } else if constexpr (std::is_same_v<V, Compute<T>>) {
    return static_cast<V>(*from);
  } else {
    return (V)(__builtin_convertvector(Read<HalfOf<V>>(from), BitsOf<V>) << 16);
  }
}

// Rounds as Bf16 does (runtime/base/bf16.h).
template <typename V, typename T>
PARTITA_INLINED void Store(const V& value, T* to) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    Write(value, to);
  } else if constexpr (std::is_same_v<V, Compute<T>>) {
    *to = T(value);
  } else {
    const BitsOf<V> bits = (BitsOf<V>)value;
    const BitsOf<V> nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, quiet = (bits >> 16) | 0x40;
    const BitsOf<V> rounded = (bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : nearest;
    Write(__builtin_convertvector(rounded, HalfOf<V>), to);
  }
}

// Calls f<V>(c) for all channels in vectors, at the end in shorter ones.
template <int kBytes, typename T, typename F>
PARTITA_INLINED void ForVectors(int64_t c, int64_t channels, const F& f) {
  constexpr int64_t kLanes = kBytes / static_cast<int>(sizeof(Compute<T>));
  for (; c + kLanes <= channels; c += kLanes) f.template operator()<typename VectorOf<Compute<T>, kBytes>::Type>(c);
  if constexpr (kLanes > 1) ForVectors<kBytes / 2, T>(c, channels, f);
}

template <typename V, typename T>
PARTITA_INLINED void Finish(V sum, const DepthwiseEpilogue<T>& epilogue, int64_t c, T* to) {
  if (epilogue.bias != nullptr) sum += Read<V>(epilogue.bias + c);
  if (epilogue.relu) sum = sum < V{} ? V{} : sum;
  Store(sum, to);
}

// kCount pixels from m on, of the channels of a vector from c on, where kColumns columns of the window meet pixels side
// by side, for the next pixel made kStep pixels further. Each pixel that is met is read once.
template <typename V, int kCount, int kColumns, int kStep, typename T>
PARTITA_INLINED void MakeTile(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                              const DepthwiseEpilogue<T>& epilogue, int64_t m, int64_t c, T* to) {
  constexpr int kMet = (kCount - 1) * kStep + kColumns;
  const int64_t channels = columns.channels, first = m * kStep + columns.columns[0].offset;
  V sums[kCount] = {};
  for (const TapRow<T>& row : rows) {
    V filter[kColumns];
#pragma GCC unroll 16
    for (int q = 0; q < kColumns; ++q) {
      filter[q] = Read<V>(filters + (row.place + columns.columns[q].place) * channels + c);
    }
    const T* const from = row.from + first * channels + c;
#pragma GCC unroll 32
    for (int i = 0; i < kMet; ++i) {
      if (first + i < 0 || first + i >= columns.pixels) continue;
      const V met = Load<V>(from + i * channels);
#pragma GCC unroll 16
      for (int k = 0; k < kCount; ++k) {
        if (i >= k * kStep && i - k * kStep < kColumns) sums[k] += filter[i - k * kStep] * met;
      }
    }
  }
#pragma GCC unroll 16
  for (int k = 0; k < kCount; ++k) Finish(sums[k], epilogue, c, to + (m + k) * columns.made_step * channels + c);
}

// Channels are innermost, so that images are read as they lie in memory. The last tile and the last vector begin before
// their places, if they would end behind the row or the pixel.
template <int kCount, int kColumns, int kStep, typename T>
PARTITA_VECTORS void MakeTiles(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                               const DepthwiseEpilogue<T>& epilogue, T* to) {
  using V = WholeVector<T>;
  for (int64_t m = 0; m < columns.made; m += kCount) {
    const int64_t first = std::min(m, columns.made - kCount);
    for (int64_t c = 0; c < columns.channels; c += kLanesOf<T>) {
      MakeTile<V, kCount, kColumns, kStep>(columns, rows, filters, epilogue, first,
                                           std::min(c, columns.channels - kLanesOf<T>), to);
    }
  }
}

template <typename T>
using RowMaker = void (*)(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                          const DepthwiseEpilogue<T>& epilogue, T* to);

// Tiles that fill a row of `made` pixels best; null: there are too few.
template <int kColumns, int kStep, typename T>
RowMaker<T> TilesFor(int64_t made) {
  if (made < 4) return nullptr;
  if (made < 7) return MakeTiles<4, kColumns, kStep, T>;
  return made % 7 == 0 && made % 8 != 0 ? MakeTiles<7, kColumns, kStep, T> : MakeTiles<8, kColumns, kStep, T>;
}

inline bool AreSideBySide(const TapColumns& columns) {
  for (size_t q = 1; q < columns.columns.size(); ++q) {
    if (columns.columns[q].offset != columns.columns[q - 1].offset + 1) return false;
  }
  return true;
}

// Ten times how many columns, and their step: what tiles are compiled for.
inline int64_t KindOf(const TapColumns& columns) {
  return 10 * static_cast<int64_t>(columns.columns.size()) + columns.step;
}

// Null: there are no tiles of these columns.
template <typename T>
RowMaker<T> TilesOf(const TapColumns& columns) {
  if (!AreSideBySide(columns) || columns.channels < kLanesOf<T>) return nullptr;
  if constexpr (kMakesTiles) {
    switch (KindOf(columns)) {
      case 11:
        return TilesFor<1, 1, T>(columns.made);
      case 21:
        return TilesFor<2, 1, T>(columns.made);
      case 31:
        return TilesFor<3, 1, T>(columns.made);
      case 41:
        return TilesFor<4, 1, T>(columns.made);
      case 51:
        return TilesFor<5, 1, T>(columns.made);
      case 71:
        return TilesFor<7, 1, T>(columns.made);
      case 32:
        return TilesFor<3, 2, T>(columns.made);
      case 52:
        return TilesFor<5, 2, T>(columns.made);
      case 72:
        return TilesFor<7, 2, T>(columns.made);
      default:
        break;
    }
  }
  return nullptr;
}

// kCount pixels from m on, where all columns, whichever they are, meet pixels.
template <typename V, int kCount, typename T>
PARTITA_INLINED void MakeInside(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
                                const DepthwiseEpilogue<T>& epilogue, int64_t m, int64_t c, T* to) {
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
                               const DepthwiseEpilogue<T>& epilogue, int64_t m, int64_t c, T* to) {
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
                                  const DepthwiseEpilogue<T>& epilogue, T* to) {
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
void MakeRow(const TapColumns& columns, std::span<const TapRow<T>> rows, const Compute<T>* filters,
             const DepthwiseEpilogue<T>& epilogue, T* to) {
  const RowMaker<T> tiles = TilesOf<T>(columns);
  (tiles != nullptr ? tiles : MakeRowOfAny<T>)(columns, rows, filters, epilogue, to);
}

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

// The same of several rows, and of columns side by side: kCount pixels of dy at a time: each pixel that is met is read
// once.
template <typename V, int kCount, int kRows, int kColumns, int kStep, typename T>
PARTITA_INLINED void AddTile(const TapColumns& columns, const TapRow<T>* rows, const T* dy, int64_t m, int64_t c,
                             V (&sums)[kRows][kColumns]) {
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
      const V met = Load<V>(rows[p].from + (first + i) * channels + c);
#pragma GCC unroll 16
      for (int k = 0; k < kCount; ++k) {
        if (i >= k * kStep && i - k * kStep < kColumns) sums[p][i - k * kStep] += cotangents[k] * met;
      }
    }
  }
}

// Of a vector from c on, the sums of whose first `taken` channels others have added.
template <typename V, int kRows, int kColumns, int kStep, typename T>
PARTITA_INLINED void AddRowsInTiles(const TapColumns& columns, const TapRow<T>* rows, const T* dy, int64_t c,
                                    int64_t taken, Compute<T>* filters) {
  const int64_t channels = columns.channels;
  V sums[kRows][kColumns] = {};
  int64_t m = 0;
  if (columns.made % 7 == 0) {
    for (; m < columns.made; m += 7) AddTile<V, 7, kRows, kColumns, kStep>(columns, rows, dy, m, c, sums);
  }
  for (; m + 4 <= columns.made; m += 4) AddTile<V, 4, kRows, kColumns, kStep>(columns, rows, dy, m, c, sums);
  for (; m < columns.made; ++m) AddTile<V, 1, kRows, kColumns, kStep>(columns, rows, dy, m, c, sums);
#pragma GCC unroll 16
  for (int p = 0; p < kRows; ++p) {
#pragma GCC unroll 16
    for (int q = 0; q < kColumns; ++q) {
      Compute<T>* const to = filters + (rows[p].place + columns.columns[q].place) * channels + c;
      if (taken == 0) {
        Write<V>(Read<V>(to) + sums[p][q], to);
      } else {
        Compute<T> lanes[kLanesOf<T>];
        Write(sums[p][q], lanes);
        for (int64_t lane = taken; lane < kLanesOf<T>; ++lane) to[lane] += lanes[lane];
      }
    }
  }
}

template <int kRows, int kColumns, int kStep, typename T>
PARTITA_VECTORS void AddTiles(const TapColumns& columns, std::span<const TapRow<T>> rows, const T* dy,
                              Compute<T>* filters) {
  using V = WholeVector<T>;
  for (int64_t c = 0; c < columns.channels; c += kLanesOf<T>) {
    const int64_t begin = std::min(c, columns.channels - kLanesOf<T>), taken = c - begin;
    size_t p = 0;
    for (; p + kRows <= rows.size(); p += kRows) {
      AddRowsInTiles<V, kRows, kColumns, kStep>(columns, &rows[p], dy, begin, taken, filters);
    }
    for (; p < rows.size(); ++p) {
      AddRowsInTiles<V, 1, kColumns, kStep>(columns, &rows[p], dy, begin, taken, filters);
    }
  }
}

template <typename T>
using FilterAdder = void (*)(const TapColumns& columns, std::span<const TapRow<T>> rows, const T* dy,
                             Compute<T>* filters);

// Null: there are no tiles of these columns.
template <typename T>
FilterAdder<T> AddingTilesOf(const TapColumns& columns) {
  if (!AreSideBySide(columns) || columns.channels < kLanesOf<T>) return nullptr;
  if constexpr (kMakesTiles) {
    switch (KindOf(columns)) {
      case 31:
        return AddTiles<3, 3, 1, T>;
      case 32:
        return AddTiles<3, 3, 2, T>;
      case 51:
        return AddTiles<2, 5, 1, T>;
      case 52:
        return AddTiles<2, 5, 2, T>;
      case 71:
        return AddTiles<1, 7, 1, T>;
      case 72:
        return AddTiles<1, 7, 2, T>;
      default:
        break;
    }
  }
  return nullptr;
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
void AddFilters(const TapColumns& columns, std::span<const TapRow<T>> rows, const T* dy, Compute<T>* filters) {
  const FilterAdder<T> tiles = AddingTilesOf<T>(columns);
  (tiles != nullptr ? tiles : AddFiltersOfAny<T>)(columns, rows, dy, filters);
}

template <typename T>
constexpr DepthwiseLoops<T> LoopsNamed(const char* name) {
  return {name, MakeRow<T>, AddFilters<T>};
}

}  // namespace
}  // namespace partita

#endif  // PARTITA_OPS_HOST_DEPTHWISE_VECTOR_LOOPS_H_
