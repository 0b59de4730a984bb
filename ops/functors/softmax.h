// Softmax of one row of `classes` logits, and losses on it. Everything is taken relative to the row's largest value.
#ifndef PARTITA_OPS_FUNCTORS_SOFTMAX_H_
#define PARTITA_OPS_FUNCTORS_SOFTMAX_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/functors/pairs.h"
#include "runtime/base/philox.h"

namespace partita {

// The index of the largest value, the lowest one of equals.
template <typename T>
PARTITA_HOST_DEVICE inline int64_t ArgMax(const T* row, int64_t classes) {
  int64_t best = 0;
  for (int64_t i = 1; i < classes; ++i) {
    if (Exceeds(row[i], row[best])) best = i;
  }
  return best;
}

// Whether class i, of `value`, comes before the label in the order whose first is the ArgMax.
template <typename T>
PARTITA_HOST_DEVICE inline bool IsBefore(T value, int64_t i, T of_label, int64_t label) {
  if (value != value) return of_label == of_label || i > label;
  return value > of_label || (value == of_label && i < label);
}

template <typename T>
PARTITA_HOST_DEVICE inline int64_t ClassesBefore(const T* row, int64_t classes, int64_t label) {
  int64_t before = 0;
  for (int64_t i = 0; i < classes; ++i) before += IsBefore(row[i], i, row[label], label) ? 1 : 0;
  return before;
}

template <typename T>
PARTITA_HOST_DEVICE inline T LogSumExp(const T* row, int64_t classes) {
  const T largest = row[ArgMax(row, classes)];
  T sum = 0;
  for (int64_t i = 0; i < classes; ++i) sum += std::exp(row[i] - largest);
  return largest + std::log(sum);
}

// y may be x.
template <typename T>
PARTITA_HOST_DEVICE inline void SoftmaxRow(const T* x, T* y, int64_t classes) {
  const T largest = x[ArgMax(x, classes)];
  T sum = 0;
  for (int64_t i = 0; i < classes; ++i) {
    y[i] = std::exp(x[i] - largest);
    sum += y[i];
  }
  const T inverse = T(1) / sum;
  for (int64_t i = 0; i < classes; ++i) y[i] *= inverse;
}

// dx = y (dy - sum(y dy)), y being the softmax; dx may be dy.
template <typename T>
PARTITA_HOST_DEVICE inline void SoftmaxGradRow(const T* y, const T* dy, T* dx, int64_t classes) {
  T sum = 0;
  for (int64_t i = 0; i < classes; ++i) sum += y[i] * dy[i];
  for (int64_t i = 0; i < classes; ++i) dx[i] = y[i] * (dy[i] - sum);
}

template <typename T>
PARTITA_HOST_DEVICE inline void LogSoftmaxRow(const T* x, T* y, int64_t classes) {
  const T total = LogSumExp(x, classes);
  for (int64_t i = 0; i < classes; ++i) y[i] = x[i] - total;
}

// dx = dy - exp(y) * sum(dy), y being the log-softmax
template <typename T>
PARTITA_HOST_DEVICE inline void LogSoftmaxGradRow(const T* y, const T* dy, T* dx, int64_t classes) {
  T sum = 0;
  for (int64_t i = 0; i < classes; ++i) sum += dy[i];
  for (int64_t i = 0; i < classes; ++i) dx[i] = dy[i] - std::exp(y[i]) * sum;
}

// Smoothing moves `smoothing` of the target's mass evenly onto all classes.
template <typename T>
PARTITA_HOST_DEVICE inline T SmoothedTarget(int64_t i, int64_t label, int64_t classes, T smoothing) {
  return (i == label ? T(1) - smoothing : T(0)) + smoothing / static_cast<T>(classes);
}

// -sum_i target_i log softmax(row)_i
template <typename T>
PARTITA_HOST_DEVICE inline T CrossEntropyRow(const T* row, int64_t classes, int64_t label, T smoothing) {
  const T total = LogSumExp(row, classes);
  T loss = (T(1) - smoothing) * (total - row[label]);
  if (smoothing != T(0)) {
    T sum = 0;
    for (int64_t i = 0; i < classes; ++i) sum += total - row[i];
    loss += smoothing / static_cast<T>(classes) * sum;
  }
  return loss;
}

// What follows is of some of a row's classes: what belongs to one row of all classes is combined from them.

// -infinity of no class at all.
template <typename T>
PARTITA_HOST_DEVICE inline T RowMaximum(const T* row, int64_t classes) {
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < classes; ++i) {
    if (Exceeds(row[i], largest)) largest = row[i];
  }
  return largest;
}

template <typename T>
PARTITA_HOST_DEVICE inline T RowExponentials(const T* row, int64_t classes, T maximum) {
  T sum = 0;
  for (int64_t i = 0; i < classes; ++i) sum += std::exp(row[i] - maximum);
  return sum;
}

// sum_i target_i (total - row_i) over the classes that are here; `label` counts from the first of them, `total` is the
// logarithm of the sum of exponentials over all classes.
template <typename T>
PARTITA_HOST_DEVICE inline T CrossEntropyShare(const T* row, int64_t classes, int64_t label, int64_t all_classes,
                                               T smoothing, T total) {
  T loss = label >= 0 && label < classes ? (T(1) - smoothing) * (total - row[label]) : T(0);
  if (smoothing != T(0)) {
    T sum = 0;
    for (int64_t i = 0; i < classes; ++i) sum += total - row[i];
    loss += smoothing / static_cast<T>(all_classes) * sum;
  }
  return loss;
}

// d = factor * (softmax(row) - target); `d` may be `row`.
template <typename T>
PARTITA_HOST_DEVICE inline void CrossEntropyGradRow(const T* row, T* d, int64_t classes, int64_t label, T smoothing,
                                                    T factor) {
  const T total = LogSumExp(row, classes);
  for (int64_t i = 0; i < classes; ++i) {
    d[i] = factor * (std::exp(row[i] - total) - SmoothedTarget(i, label, classes, smoothing));
  }
}

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_SOFTMAX_H_
