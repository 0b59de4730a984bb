// Logits with their labels and weights, as losses and accuracy see them: inputs (logits, labels, sample_weight?).
#ifndef PARTITA_OPS_HOST_KERNEL_LABELS_H_
#define PARTITA_OPS_HOST_KERNEL_LABELS_H_

#include <cstdint>

#include "ops/host/kernel/host_kernel.h"
#include "ops/values/index_places.h"
#include "ops/values/loss_weights.h"

namespace partita {

// Without weights every row counts once.
template <typename T>
T WeightOfRow(const LossWeights& weights, const KernelArguments& arguments, int64_t row) {
  const T* const given = In<T>(arguments, weights.input);
  return given == nullptr ? T(1) : given[row / weights.rows];
}

struct LabelledRows {
  explicit LabelledRows(const LocalNode& node)
      : n(MakeRows(InputShape(node, 0)).rows),
        classes(InputShape(node, 0).back()),
        all_classes(Input(node, 0).global.back()),
        first_class(Input(node, 0).box.offset.back()),
        places(node, 1),
        weights(node, InputShape(node, 0).size() - 1, 2) {}

  int64_t Label(const KernelArguments& arguments, int64_t i) const { return In<int32_t>(arguments, 1)[i]; }
  // Whether the row counts nothing.
  bool Ignores(const KernelArguments& arguments, int64_t i) const { return Label(arguments, i) == weights.ignored; }

  template <typename T>
  T Weight(const KernelArguments& arguments, int64_t i) const {
    return WeightOfRow<T>(weights, arguments, i);
  }

  // Of the gradient: what a row's is multiplied by. Input 3 is dloss, absent where it is 1.
  template <typename T>
  T Factor(const KernelArguments& arguments, int64_t i) const {
    const T* const dloss = In<T>(arguments, 3);
    return (dloss == nullptr ? T(1) : *dloss) * Weight<T>(arguments, i) / static_cast<T>(weights.divisor);
  }

  // kInvalidArgument: a label that is no class and not ignored.
  absl::Status Check(const KernelArguments& arguments) const {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t label = Label(arguments, i);
      if (label >= 0 && label < all_classes) continue;
      if (!Ignores(arguments, i)) return places.Refused("label", i, label, all_classes - 1);
    }
    return absl::OkStatus();
  }

  int64_t n;
  int64_t classes;  // of the block; of an op whose classes are not split, all
  int64_t all_classes;
  int64_t first_class;  // the class of the block's first column
  IndexPlaces places;   // of the labels
  LossWeights weights;
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_LABELS_H_
