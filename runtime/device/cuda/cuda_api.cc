#include "runtime/device/cuda/cuda_api.h"

namespace partita {

namespace {

CudaApi Linked() {
  CudaApi api;
#define PARTITA_CUDA_SLOT(name) api.name = &::name;
  PARTITA_CUDA_FUNCTIONS(PARTITA_CUDA_SLOT)
#undef PARTITA_CUDA_SLOT
#define PARTITA_CUDA_SLOT(name, arguments) api.name = &::name;
  PARTITA_CUDA_OVERLOADED_FUNCTIONS(PARTITA_CUDA_SLOT)
#undef PARTITA_CUDA_SLOT
  return api;
}

}  // namespace

const CudaApi& RealCudaApi() {
  static const CudaApi api = Linked();
  return api;
}

}  // namespace partita
