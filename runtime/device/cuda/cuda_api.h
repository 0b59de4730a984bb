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
  X(cudaGetDeviceCount)               \
  X(cudaGetDeviceProperties)          \
  X(cudaGetErrorName)                 \
  X(cudaGetErrorString)               \
  X(cudaGetLastError)                 \
  X(cudaGraphDestroy)                 \
  X(cudaGraphExecDestroy)             \
  X(cudaGraphLaunch)                  \
  X(cudaLaunchHostFunc)               \
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

// Those that C++ headers of CUDA overload, with the types of the C functions.
#define PARTITA_CUDA_OVERLOADED_FUNCTIONS(X)                                   \
  X(cudaFuncGetAttributes, (cudaFuncAttributes*, const void*))                 \
  X(cudaGraphInstantiate, (cudaGraphExec_t*, cudaGraph_t, unsigned long long)) \
  X(cudaHostAlloc, (void**, size_t, unsigned))                                 \
  X(cudaLaunchKernel, (const void*, dim3, dim3, void**, size_t, cudaStream_t)) \
  X(cudaMalloc, (void**, size_t))

struct CudaApi {
#define PARTITA_CUDA_SLOT(name) decltype(&::name) name = nullptr;
  PARTITA_CUDA_FUNCTIONS(PARTITA_CUDA_SLOT)
#undef PARTITA_CUDA_SLOT
#define PARTITA_CUDA_SLOT(name, arguments) cudaError_t(*name) arguments = nullptr;
  PARTITA_CUDA_OVERLOADED_FUNCTIONS(PARTITA_CUDA_SLOT)
#undef PARTITA_CUDA_SLOT
};

const CudaApi& RealCudaApi();

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_CUDA_API_H_
