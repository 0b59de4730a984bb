#include "runtime/device/cuda/cuda_api.h"

namespace partita {

const CudaApi& RealCudaApi() {
  static const CudaApi api = {
#define PARTITA_CUDA_SLOT(name) .name = &::name,
      PARTITA_CUDA_FUNCTIONS(PARTITA_CUDA_SLOT)
#undef PARTITA_CUDA_SLOT
#define PARTITA_CUDA_SLOT(name, arguments) .name = &::name,
          PARTITA_CUDA_OVERLOADED_FUNCTIONS(PARTITA_CUDA_SLOT)
#undef PARTITA_CUDA_SLOT
  };
  return api;
}

}  // namespace partita
