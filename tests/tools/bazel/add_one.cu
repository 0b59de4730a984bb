#include <cuda_runtime.h>

#include "tests/tools/bazel/add_one.h"

namespace partita {
namespace {

__global__ void AddOne(int* number) { *number += 1; }

}  // namespace

int CompiledCudaVersion() { return CUDART_VERSION; }

int AddOneOnDevice(int* number) {
  int* device = nullptr;
  cudaError_t error = cudaMalloc(&device, sizeof(int));
  if (error != cudaSuccess) return error;
  cudaMemcpy(device, number, sizeof(int), cudaMemcpyHostToDevice);
  AddOne<<<1, 1>>>(device);
  error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaMemcpy(number, device, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(device);
  return error;
}

}  // namespace partita
