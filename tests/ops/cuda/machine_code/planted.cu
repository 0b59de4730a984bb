// Kernels with the faults that the test of machine code is to find.
#include <cstdint>

// A division of 64 bits and single loads.
__global__ void PlantedDivision(const int64_t divisor, const float* x, float* y) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  y[i] = x[i / divisor];
}

// An array that registers cannot hold, because its index is known only when it runs.
__global__ void PlantedStack(const int* order, float* y) {
  float values[64];
  for (int k = 0; k < 64; ++k) values[order[k] & 63] = static_cast<float>(order[k + 64]);
  for (int k = 0; k < 64; ++k) y[k] = values[order[k + 128] & 63];
}
