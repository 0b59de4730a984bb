// Fast kernels of rows that ids choose: rows shared among threads, each moved or added up in vectors. A gradient is
// added up row by row of the table, in the order of the batch, whatever the number of threads.
#include <algorithm>
#include <cstring>

#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/ids.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/row_pairs.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

PARTITA_TARGET_CLONES void AddRow(const float* x, float* y, int64_t channels) {
  PARTITA_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) y[c] += x[c];
}

// Of the run of readings of one row that begins at `first`, in `end` readings.
void SumReadings(const Reading* readings, int64_t first, int64_t end, const float* dy, float* table, int64_t channels) {
  const int64_t row = readings[first].row;
  float* const sum = table + row * channels;
  std::memcpy(sum, dy + readings[first].position * channels, static_cast<size_t>(channels) * sizeof(float));
  for (int64_t i = first + 1; i < end && readings[i].row == row; ++i) {
    AddRow(dy + readings[i].position * channels, sum, channels);
  }
}

void Zero(float* x, int64_t elements) {
  ParallelRange(elements, [x](int64_t begin, int64_t end) { std::fill(x + begin, x + end, 0.0F); });
}

}  // namespace

absl::StatusOr<PreparedKernel> FastEmbedding(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Ids ids(node, 1, Input(node, 0));
  const int64_t channels = InputShape(node, 0)[1];
  return Prepared([ids, channels](const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(ids.Check(a));
    ParallelFor(ids.count(), ids.count() * channels, [&](int64_t i) {
      const int64_t row = ids.RowAt(a, i);
      float* const y = Out<float>(a, 0) + i * channels;
      if (row < 0) {
        std::fill_n(y, channels, 0.0F);
      } else {
        std::memcpy(y, In<float>(a, 0) + row * channels, static_cast<size_t>(channels) * sizeof(float));
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<PreparedKernel> FastEmbeddingGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Ids ids(node, 1, node.outputs[0]);
  const int64_t channels = node.outputs[0].shape()[1], elements = node.outputs[0].elements();
  const auto compute = [ids, channels, elements](const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(ids.Check(a));
    Zero(Out<float>(a, 0), elements);
    Reading* const readings = Scratch<Reading>(a);
    const int64_t found = ids.Sort(a, readings);
    ParallelFor(found, found * channels, [&](int64_t i) {
      if (i > 0 && readings[i - 1].row == readings[i].row) return;
      SumReadings(readings, i, found, In<float>(a, 2), Out<float>(a, 0), channels);
    });
    return absl::OkStatus();
  };
  return Prepared(compute, ids.readings_bytes());
}

absl::StatusOr<PreparedKernel> FastMergeRows(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[1].dtype));
  const RowPairs pairs(node);
  const auto compute = [pairs](const KernelArguments& a) {
    const RowPairs::Runs runs = pairs.Sort(a);
    const int64_t channels = pairs.channels();
    ParallelFor(pairs.count(), pairs.count() * channels, [&](int64_t r) {
      float* const sum = Out<float>(a, 1) + r * channels;
      Out<int32_t>(a, 0)[r] = r < runs.count ? static_cast<int32_t>(runs.readings[runs.begins[r]].row) : -1;
      std::fill_n(sum, channels, 0.0F);
      for (int64_t i = r < runs.count ? runs.begins[r] : 0; r < runs.count && i < runs.begins[r + 1]; ++i) {
        AddRow(pairs.Row<float>(a, runs.readings[i].position), sum, channels);
      }
    });
  };
  return Prepared(compute, pairs.scratch_bytes());
}

}  // namespace partita
