// Windows of a pooling for one thread, which has a run of channels of one pixel. The ranges are those of Pooling
// (ops/functors/geometry.h), in a narrower type and without a division of integers. For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_IMAGES_POOLING_WINDOWS_H_
#define PARTITA_OPS_CUDA_LOOPS_IMAGES_POOLING_WINDOWS_H_

#include <cstdint>
#include <type_traits>

#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/loops.h"
#include "ops/functors/geometry.h"

namespace partita {

// The indices [begin, end); none if end <= begin.
template <typename Index>
struct Span {
  Index begin, end;
};

// The rows or the columns that windows move over.
template <typename Index>
struct PoolingAxis {
  Index pixels, outputs, kernel, padding, stride;
  DivisorOf<Index> by_stride;

  PoolingAxis(int64_t size, int64_t output_size, int64_t kernel_size, int64_t stride_size, int64_t padding_size)
      : pixels(static_cast<Index>(size)),
        outputs(static_cast<Index>(output_size)),
        kernel(static_cast<Index>(kernel_size)),
        padding(static_cast<Index>(padding_size)),
        stride(static_cast<Index>(stride_size)),
        by_stride(stride_size) {}

  // The pixels that the window of an output sees.
  PARTITA_HOST_DEVICE Span<Index> WindowOf(Index output) const {
    const Index begin = output * stride - padding, end = begin + kernel;
    return {begin < 0 ? 0 : begin, end < pixels ? end : pixels};
  }

  // The outputs whose windows see a pixel.
  PARTITA_HOST_DEVICE Span<Index> OutputsThatSee(Index pixel) const {
    const Index last = pixel + padding, beyond = last - kernel + stride;
    const Index begin = by_stride(beyond < 0 ? 0 : beyond).quotient;
    const Index end = last < 0 ? 0 : by_stride(last).quotient + 1;
    return {begin, end < outputs ? end : outputs};
  }
};

// How threads share the channels of a pixel: each has `count` runs of them, which lie `apart` from each other. Two runs
// lie half of the channels apart, so that neighbouring threads have neighbouring runs and a warp's accesses are to
// whole lines of the cache; of an odd number of runs two threads have the one in the middle.
struct RunsOfPixel {
  int64_t threads, apart;
  int width;

  RunsOfPixel(int64_t channels, int width_of_run, int count)
      : threads(CeilDivide(channels / width_of_run, count)),
        apart(count == 1 ? 0 : channels / width_of_run / 2 * width_of_run),
        width(width_of_run) {}
};

// A thread's pixel of x or y and the first of its channels.
template <typename Index>
struct PixelPlace {
  Index sample, row, column, channel;
};

// Images [samples][rows][columns][channels]. Index holds all indices of runs, and all of elements within a sample.
template <typename Index>
struct PixelRuns {
  DivisorOf<Index> runs, columns, rows;     // of a pixel (threads), a row, a sample
  Index pixel_step, row_step, sample_step;  // in elements
  int width;

  // `pitch`: elements from a pixel to the next.
  PixelRuns(int64_t row_count, int64_t column_count, const RunsOfPixel& runs_of_pixel, int64_t pitch)
      : runs(runs_of_pixel.threads),
        columns(column_count),
        rows(row_count),
        pixel_step(static_cast<Index>(pitch)),
        row_step(static_cast<Index>(column_count * pitch)),
        sample_step(static_cast<Index>(row_count * column_count * pitch)),
        width(runs_of_pixel.width) {}

  PARTITA_HOST_DEVICE PixelPlace<Index> PlaceOf(Index index) const {
    const auto run = runs(index);
    const auto column = columns(run.quotient);
    const auto row = rows(column.quotient);
    return {row.quotient, row.rest, column.rest, run.rest * width};
  }
  // Where the thread's channels lie in the first pixel of its sample, and in its own.
  template <typename T>
  PARTITA_HOST_DEVICE T* OriginOf(T* images, const PixelPlace<Index>& place) const {
    // A GPU multiplies unsigned 32-bit numbers into 64 bits in one instruction; for signed ones nvcc may take four.
    using Unsigned = std::make_unsigned_t<Index>;
    const uint64_t sample =
        static_cast<uint64_t>(static_cast<Unsigned>(place.sample)) * static_cast<Unsigned>(sample_step);
    return images + (sample + static_cast<Unsigned>(place.channel));
  }
  template <typename T>
  PARTITA_HOST_DEVICE T* AddressOf(T* images, const PixelPlace<Index>& place) const {
    return OriginOf(images, place) + (place.row * row_step + place.column * pixel_step);
  }
};

// Images that a thread walks through, and the address of their pixel (0, 0).
template <typename Index, typename T>
struct Walked {
  const PixelRuns<Index>& images;
  const T* origin;
};

// f(addresses, column) for the pixels of a row from column `begin` to `end`, of which there is one; with an address in
// each of the images. `first`: those of the row's pixel 0. The images keep addresses of their own, which costs fewer
// instructions than finding one image's from the other's indices.
template <int kImages, typename Index, typename T, typename F>
PARTITA_HOST_DEVICE void ForColumns(const Walked<Index, T> (&walked)[kImages], const T* const (&first)[kImages],
                                    const Span<Index>& columns, const F& f) {
  const Index end = columns.end * walked[0].images.pixel_step;
  Index column = columns.begin, at[kImages];
  for (int k = 0; k < kImages; ++k) at[k] = columns.begin * walked[k].images.pixel_step;
  PARTITA_NOT_UNROLLED do {
    const T* addresses[kImages];
    for (int k = 0; k < kImages; ++k) addresses[k] = first[k] + at[k];
    f(addresses, column++);
    for (int k = 0; k < kImages; ++k) at[k] += walked[k].images.pixel_step;
  }
  while (at[0] < end)
    ;
}

// f(addresses, row, column) for the pixels of a rectangle in row-major order.
template <int kImages, typename Index, typename T, typename F>
PARTITA_HOST_DEVICE void ForPixels(const Walked<Index, T> (&walked)[kImages], const Span<Index>& rows,
                                   const Span<Index>& columns, const F& f) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return;
  const T* first[kImages];
  for (int k = 0; k < kImages; ++k) first[k] = walked[k].origin + rows.begin * walked[k].images.row_step;
  PARTITA_NOT_UNROLLED for (Index row = rows.begin;;) {
    ForColumns(walked, first, columns,
               [&](const T* const(&addresses)[kImages], Index column) { f(addresses, row, column); });
    for (int k = 0; k < kImages; ++k) first[k] += walked[k].images.row_step;
    if (++row >= rows.end) return;
  }
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_IMAGES_POOLING_WINDOWS_H_
