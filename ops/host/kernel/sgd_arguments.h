// What the two SGD ops are given beside the tensors: attributes, and the scalars rate and clip (absent: 1).
#ifndef PARTITA_OPS_HOST_KERNEL_SGD_ARGUMENTS_H_
#define PARTITA_OPS_HOST_KERNEL_SGD_ARGUMENTS_H_

#include "ops/functors/sgd.h"
#include "ops/host/kernel/host_kernel.h"

namespace partita {

struct SgdArguments {
  size_t rate_input = 0;  // `clip` follows it
  double weight_decay = 0, momentum = 0;
  bool nesterov = false;

  template <typename T>
  SgdStep<T> Step(const KernelArguments& arguments) const {
    const T* clip = In<T>(arguments, rate_input + 1);
    return {*In<T>(arguments, rate_input), clip == nullptr ? T(1) : *clip, static_cast<T>(weight_decay),
            static_cast<T>(momentum), nesterov};
  }
};

// sgd(w, g, rate, clip?)
inline SgdArguments PlainSgd(const LocalNode& node) { return {2, node.attributes.Float("weight_decay"), 0, false}; }

// sgd_momentum(w, g, m, rate, clip?)
inline SgdArguments MomentumSgd(const LocalNode& node) {
  return {3, node.attributes.Float("weight_decay"), node.attributes.Float("momentum"),
          node.attributes.Bool("nesterov")};
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_SGD_ARGUMENTS_H_
