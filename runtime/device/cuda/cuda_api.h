// The functions of the CUDA runtime that Partita calls, as a table: the real one, or a test's.
//
// The runtime is linked statically and opens the driver at its first call; where there is none every call returns an
// error. Kernels are launched through the table as well, by the address of their __global__ function.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_CUDA_API_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_CUDA_API_H_

#include <cuda_runtime_api.h>

namespace partita {

#define PARTITA_CUDA_FUNCTIONS(X)     \
  X(cudaDriverGetVersion)             \
  X(cudaDeviceGetStreamPriorityRange) \
  X(cudaEventCreateWithFlags)         \
  X(cudaEventDestroy)                 \
  X(cudaEventElapsedTime)             \
  X(cudaEventQuery)                   \
  X(cudaEventRecord)                  \
  X(cudaEventRecordWithFlags)         \
  X(cudaEventSynchronize)             \
  X(cudaFree)                         \
  X(cudaFreeHost)                     \
  X(cudaFuncGetAttributes)            \
  X(cudaGetDeviceCount)               \
  X(cudaGetDeviceProperties)          \
  X(cudaGetErrorName)                 \
  X(cudaGetErrorString)               \
  X(cudaGetLastError)                 \
  X(cudaGraphDestroy)                 \
  X(cudaGraphExecDestroy)             \
  X(cudaGraphInstantiate)             \
  X(cudaGraphLaunch)                  \
  X(cudaHostAlloc)                    \
  X(cudaLaunchHostFunc)               \
  X(cudaLaunchKernel)                 \
  X(cudaMalloc)                       \
  X(cudaMemcpyAsync)                  \
  X(cudaMemGetInfo)                   \
  X(cudaMemsetAsync)                  \
  X(cudaSetDevice)                    \
  X(cudaStreamBeginCapture)           \
  X(cudaStreamCreateWithPriority)     \
  X(cudaStreamDestroy)                \
  X(cudaStreamEndCapture)             \
  X(cudaStreamSynchronize)            \
  X(cudaStreamWaitEvent)

struct CudaApi {
#define PARTITA_CUDA_SLOT(name) decltype(&::name) name = nullptr;
  PARTITA_CUDA_FUNCTIONS(PARTITA_CUDA_SLOT)
#undef PARTITA_CUDA_SLOT
};

const CudaApi& RealCudaApi();

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_CUDA_API_H_
