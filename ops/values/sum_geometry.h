// Reads off a node what sums over dimensions add up, and what they are divided by (ops/definitions/sums.cc).
#ifndef PARTITA_OPS_VALUES_SUM_GEOMETRY_H_
#define PARTITA_OPS_VALUES_SUM_GEOMETRY_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "graph/ir/kernel_catalogue.h"
#include "ops/functors/geometry.h"
#include "ops/functors/summed_runs.h"
#include "ops/values/node_geometry.h"

namespace partita {

// `axes` of a block of this shape; none: all of them.
inline SummedRuns MakeSummedRuns(const Shape& shape, const IntList& axes) {
  SummedRuns runs;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool summed = axes.empty() || std::ranges::find(axes, static_cast<int64_t>(d)) != axes.end();
    (summed ? runs.terms : runs.sums) *= shape[d];
    if (shape[d] == 1) continue;
    if (runs.count == 0 || runs.is_summed[runs.count - 1] != summed) {
      runs.size[runs.count] = 1;
      runs.is_summed[runs.count++] = summed;
    }
    runs.size[runs.count - 1] *= shape[d];
  }
  for (int64_t r = runs.count, stride = 1; r-- > 0; stride *= runs.size[r]) runs.stride[r] = stride;
  return runs;
}

// Of sum and mean.
inline SummedRuns SummedRunsOf(const LocalNode& node) {
  return MakeSummedRuns(InputShape(node, 0), node.attributes.Ints("axes"));
}

// Of expand, expand_like and sum_grad: the result is what would be added up.
inline SummedRuns ExpandedRunsOf(const LocalNode& node) {
  return MakeSummedRuns(node.outputs[0].shape(), node.attributes.Ints("axes"));
}

// The same as rows of channels in groups, where one run is added up: groups, then the rows, then the channels are kept.
inline std::optional<SampleGroups> ColumnsOf(const SummedRuns& runs) {
  SampleGroups columns{1, runs.terms, 1, 0};
  int summed = 0;
  for (int r = 0; r < runs.count; ++r) {
    summed += runs.is_summed[r];
    if (!runs.is_summed[r]) (summed == 0 ? columns.groups : columns.channels) *= runs.size[r];
  }
  if (summed > 1) return std::nullopt;
  if (summed == 0) std::swap(columns.groups, columns.channels);
  return columns;
}

// What a mean divides by: the terms of all ranks. Of a sum 1.
inline double DivisorOfSum(const LocalNode& node) {
  if (!node.attributes.Has("batch")) return 1;
  const LocalTensor& x = Input(node, 0);
  const IntList& axes = node.attributes.Ints("axes");
  double terms = 1;
  for (size_t d = 0; d < x.global.size(); ++d) {
    const bool summed = axes.empty() || std::ranges::find(axes, static_cast<int64_t>(d)) != axes.end();
    if (summed) terms *= d == 0 ? RowsOfMean(node, 1) : static_cast<double>(x.global[d]);
  }
  return terms;
}

// Of expand 1.
inline double DivisorOfExpansion(const LocalNode& node) {
  return node.attributes.Has("divisor") ? node.attributes.Float("divisor") : 1;
}

// (predictions, targets, sample_weight?) of an error between numbers.
struct ErrorRows {
  int64_t samples = 0, numbers = 0;  // of this rank; of a sample
  double divisor = 1;                // samples of the batch times numbers of a whole sample

  int64_t elements() const { return samples * numbers; }
};
inline ErrorRows ErrorRowsOf(const LocalNode& node) {
  const LocalTensor& x = Input(node, 0);
  ErrorRows rows{x.shape()[0], 1, RowsOfMean(node, 1)};
  for (size_t d = 1; d < x.global.size(); ++d) {
    rows.numbers *= x.shape()[d];
    rows.divisor *= static_cast<double>(x.global[d]);
  }
  return rows;
}

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_SUM_GEOMETRY_H_
