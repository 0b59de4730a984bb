// A label that is no class, as one word that a launch leaves for the host (KernelArguments::fault).
#ifndef PARTITA_OPS_CUDA_LAUNCH_LABEL_FAULT_H_
#define PARTITA_OPS_CUDA_LAUNCH_LABEL_FAULT_H_

#include <cstdint>

#include "runtime/base/philox.h"

namespace partita::launch {

struct LabelFault {
  int64_t row = 0;  // of the rank's, below 2^32 - 1
  int32_t label = 0;

  // Never 0.
  PARTITA_HOST_DEVICE uint64_t Word() const {
    return (static_cast<uint64_t>(row + 1) << 32) | static_cast<uint32_t>(label);
  }
  static LabelFault Of(uint64_t word) {
    return {static_cast<int64_t>(word >> 32) - 1, static_cast<int32_t>(static_cast<uint32_t>(word))};
  }
};

// Whether it is one of `classes`; if not, `fault` (may be null) receives the word. If several rows write one, any of
// them remains.
PARTITA_HOST_DEVICE inline bool IsClass(int64_t row, int32_t label, int64_t classes, uint64_t* fault) {
  if (label >= 0 && label < classes) return true;
  if (fault != nullptr) *fault = LabelFault{row, label}.Word();
  return false;
}

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_LABEL_FAULT_H_
