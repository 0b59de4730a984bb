// An update in a step: with the scalars that the step gives it.
#ifndef PARTITA_OPS_HOST_KERNEL_UPDATE_ARGUMENTS_H_
#define PARTITA_OPS_HOST_KERNEL_UPDATE_ARGUMENTS_H_

#include "ops/functors/updates/update.h"
#include "ops/host/kernel/host_kernel.h"

namespace partita {

template <typename F, typename T>
ElementUpdate<F, T> UpdateIn(const GroupUpdate<F>& update, const KernelArguments& a) {
  ElementUpdate<F, T> in{update, ScalarsAt<F>(In<T>(a, kRateInput<F>), In<int32_t>(a, kApplyInput<F>),
                                              In<T>(a, kClipInput<F>), In<int32_t>(a, kIterationInput<F>))};
  if constexpr (ReadsNorms<F>) in.SetNorms(*In<T>(a, kNormInputs<F>), *In<T>(a, kNormInputs<F> + 1));
  return in;
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_UPDATE_ARGUMENTS_H_
