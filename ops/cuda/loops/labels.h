// Access to a row's label for the bodies of losses and accuracy.
#ifndef PARTITA_OPS_CUDA_LOOPS_LABELS_H_
#define PARTITA_OPS_CUDA_LOOPS_LABELS_H_

#include <cstdint>
#include <limits>

#include "ops/cuda/launch/labelled_rows.h"
#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/elementwise.h"

namespace partita::launch {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename T>
struct Labels {
  const int32_t* labels;
  const Compute<T>* weights;
  int64_t classes, all_classes, first_class;
  int64_t ignored;
  Compute<T> smoothing, divisor;
  uint64_t* fault;
  Divisor weight_rows;

  // Whether the row counts nothing. Its label need not be a class.
  PARTITA_HOST_DEVICE bool Ignores(int64_t row) const { return labels[row] == ignored; }
  PARTITA_HOST_DEVICE bool IsClass(int64_t row) const { return launch::IsClass(row, labels[row], all_classes, fault); }
  // Among the block's columns; outside of them if its class is in another block.
  PARTITA_HOST_DEVICE int64_t Column(int64_t row) const { return labels[row] - first_class; }
  PARTITA_HOST_DEVICE Compute<T> Weight(int64_t row) const {
    return weights == nullptr ? 1 : weights[weight_rows(row).quotient];
  }
  // Of the gradient: what a row's is multiplied by.
  PARTITA_HOST_DEVICE Compute<T> Factor(int64_t row, Compute<T> dloss) const {
    return IsClass(row) ? dloss * Weight(row) / divisor : static_cast<Compute<T>>(kNaN);
  }
};

template <typename T>
Labels<T> LabelsOf(const LabelledRows& rows) {
  using A = Compute<T>;
  return {rows.labels,
          As<A>(rows.weights),
          rows.classes,
          rows.all_classes,
          rows.first_class,
          rows.ignored,
          static_cast<A>(rows.smoothing),
          static_cast<A>(rows.divisor),
          rows.fault,
          Divisor(rows.weight_rows)};
}

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LOOPS_LABELS_H_
