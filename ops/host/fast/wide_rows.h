// Per-channel work on [groups, rows, channels] at full vector width for any number of channels.
//
// A row of few channels is short for a vector loop, but rows lie one after the other: as many as make about 256
// elements are taken as one wide row, with the channels' coefficients repeated as often. Groups are cut into chunks by
// their size alone; a reduction keeps sums per chunk and adds them in order, in double.
#ifndef PARTITA_OPS_HOST_FAST_WIDE_ROWS_H_
#define PARTITA_OPS_HOST_FAST_WIDE_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "ops/host/kernel/column_rows.h"
#include "ops/host/kernel/host_kernel.h"
#include "ops/host/kernel/parallel.h"
#include "ops/values/node_geometry.h"
#include "runtime/base/alignment.h"

namespace partita {

class WideRows {
 public:
  explicit WideRows(const SampleGroups& groups)
      : groups_(groups.groups), channels_(groups.channels), group_elements_(groups.rows_per_group * groups.channels) {
    if (group_elements_ == 0) return;
    width_ = channels_ * std::max<int64_t>(1, 256 / channels_);
    const int64_t wide_rows = (group_elements_ + width_ - 1) / width_;
    const int64_t wanted = std::clamp<int64_t>(group_elements_ / 16384, 1, 16);
    chunk_ = (wide_rows + wanted - 1) / wanted * width_;
    chunks_ = (group_elements_ + chunk_ - 1) / chunk_;
  }
  explicit WideRows(const ChannelRows& rows) : WideRows(SampleGroups{1, rows.rows, rows.channels, 0}) {}

  int64_t width() const { return width_; }
  int64_t channels() const { return channels_; }
  int64_t groups() const { return groups_; }

  // Bytes of `kinds` coefficients for every group and element of a wide row.
  int64_t coefficient_bytes(int kinds) const {
    return AlignUp(groups_ * kinds * width_ * static_cast<int64_t>(sizeof(float)));
  }
  // Bytes of the two sums of Reduce.
  template <typename Sum = float>
  int64_t reduction_bytes() const {
    return AlignUp(groups_ * chunks_ * 2 *
                   (width_ * static_cast<int64_t>(sizeof(Sum)) + channels_ * static_cast<int64_t>(sizeof(double))));
  }

  // Coefficient `kind` of group g, repeated over a wide row.
  float* Coefficients(float* table, int kinds, int64_t g, int kind) const {
    return table + (g * kinds + kind) * width_;
  }

  // Repeats the first `channels` of `coefficients` over the wide row.
  void Repeat(float* coefficients) const {
    for (int64_t i = channels_; i < width_; ++i) coefficients[i] = coefficients[i - channels_];
  }

  // Calls f(group, begin, end) for the chunks of all groups: elements [begin, end) of the whole tensor, from the start
  // of a wide row of the group.
  template <typename F>
  void ForChunks(const F& f) const {
    ParallelFor(groups_ * chunks_, groups_ * group_elements_, [&](int64_t task) {
      const int64_t g = task / chunks_, chunk = task % chunks_;
      f(g, g * group_elements_ + chunk * chunk_, g * group_elements_ + std::min(group_elements_, (chunk + 1) * chunk_));
    });
  }

  // Calls loop(n, first element of each tensor...) for [begin, end) of tensors whose rows may be columns of wider ones,
  // within what ForChunks gives: once if all are dense, else for pieces that lie dense while it runs.
  template <typename Loop, typename... Ts>
  void ForDense(int64_t begin, int64_t end, const Loop& loop, const ColumnRows<Ts>&... tensors) const {
    if (((tensors.pitch == 0) && ...)) return loop(end - begin, (tensors.first + begin)...);
    const int64_t piece = kWideRowsOfPiece * width_;
    for (int64_t at = begin; at < end; at += piece) {
      const int64_t n = std::min(piece, end - at);
      loop(n, DensePiece<Ts>(tensors, channels_, at, n).data()...);
    }
  }

  // add(g, begin, end, s1, s2) adds into two wide rows of zeros, of type Sum; result(g, c, sum1, sum2) gets the sums of
  // each group and channel, for all channels of a group before the next group.
  template <typename Sum = float, typename Add, typename Result>
  void Reduce(void* workspace, const Add& add, const Result& result) const {
    double* sums = static_cast<double*>(workspace);
    Sum* wide_sums = reinterpret_cast<Sum*>(sums + groups_ * chunks_ * 2 * channels_);
    ForChunks([&](int64_t g, int64_t begin, int64_t end) {
      const int64_t task = g * chunks_ + (begin - g * group_elements_) / chunk_;
      Sum* wide = wide_sums + task * 2 * width_;
      std::fill(wide, wide + 2 * width_, Sum{0});
      add(g, begin, end, wide, wide + width_);
      Fold(wide, sums + task * 2 * channels_);
      Fold(wide + width_, sums + (task * 2 + 1) * channels_);
    });
    for (int64_t g = 0; g < groups_; ++g) {
      for (int64_t c = 0; c < channels_; ++c) {
        double sum1 = 0, sum2 = 0;
        for (int64_t task = g * chunks_; task < (g + 1) * chunks_; ++task) {
          sum1 += sums[task * 2 * channels_ + c];
          sum2 += sums[(task * 2 + 1) * channels_ + c];
        }
        result(g, c, sum1, sum2);
      }
    }
  }

 private:
  // Sums of a wide row -> sums of channels.
  template <typename Sum>
  void Fold(const Sum* wide, double* sums) const {
    for (int64_t c = 0; c < channels_; ++c) sums[c] = wide[c];
    for (int64_t i = channels_; i < width_; i += channels_) {
      for (int64_t c = 0; c < channels_; ++c) sums[c] += wide[i + c];
    }
  }

  int64_t groups_, channels_, group_elements_;
  int64_t width_ = 0, chunk_ = 0, chunks_ = 0;
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_FAST_WIDE_ROWS_H_
