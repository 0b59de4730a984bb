// Rows of a sampled softmax, as kernels see them: inputs (own, logits, labels, ids, draws, sample_weight?, ...).
#ifndef PARTITA_OPS_HOST_KERNEL_SAMPLED_ROWS_H_
#define PARTITA_OPS_HOST_KERNEL_SAMPLED_ROWS_H_

#include <cmath>
#include <cstdint>

#include "ops/functors/sampled_softmax.h"
#include "ops/host/kernel/labels.h"

namespace partita {

struct SampledRows {
  explicit SampledRows(const LocalNode& node)
      : rows(Input(node, 0).elements()),
        samples(Input(node, 3).elements()),
        uniform(node.attributes.Int("classes")),
        weights(node, InputShape(node, 0).size(), 5) {}

  int64_t elements() const { return rows * samples; }

  // Of what is scratch for a correction of each sample.
  template <typename T>
  int64_t correction_bytes() const {
    return samples * static_cast<int64_t>(sizeof(T));
  }
  template <typename T>
  T Correction(const KernelArguments& a, int64_t c) const {
    return static_cast<T>(std::log(uniform.Expected(c, static_cast<double>(*In<int32_t>(a, 4)))));
  }
  template <typename T>
  void Correct(const KernelArguments& a, T* corrections) const {
    for (int64_t i = 0; i < samples; ++i) corrections[i] = Correction<T>(a, In<int32_t>(a, 3)[i]);
  }

  template <typename T>
  SampledRow<T> Row(const KernelArguments& a, const T* corrections, int64_t row) const {
    const int32_t label = In<int32_t>(a, 2)[row];
    return {In<T>(a, 0)[row] - Correction<T>(a, label), In<T>(a, 1) + row * samples, In<int32_t>(a, 3), corrections,
            label};
  }
  template <typename T>
  T Total(const SampledRow<T>& row) const {
    const T largest = row.Largest(0, 1, samples);
    return LogTotal(row, largest, row.Exponentials(0, 1, samples, largest));
  }

  template <typename T>
  T Loss(const KernelArguments& a, const T* corrections, int64_t i) const {
    const SampledRow<T> row = Row(a, corrections, i);
    return WeightOfRow<T>(weights, a, i) * (Total(row) - row.own);
  }

  // What the gradient of a row's loss is multiplied by.
  template <typename T>
  T Factor(const KernelArguments& a, int64_t i) const {
    return *In<T>(a, 6) * WeightOfRow<T>(weights, a, i) / static_cast<T>(weights.divisor);
  }

  // Outputs (down, dlogits).
  template <typename T>
  void Gradient(const KernelArguments& a, const T* corrections, int64_t i) const {
    const SampledRow<T> row = Row(a, corrections, i);
    const T total = Total(row);
    const T factor = Factor<T>(a, i);
    Out<T>(a, 0)[i] = factor * (std::exp(row.own - total) - T(1));
    for (int64_t k = 0; k < samples; ++k) Out<T>(a, 1)[i * samples + k] = factor * row.Probability(k, total);
  }

  int64_t rows, samples;
  LogUniform uniform;
  LossWeights weights;
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_SAMPLED_ROWS_H_
