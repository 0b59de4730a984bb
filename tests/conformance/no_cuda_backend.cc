#include "tests/conformance/cuda_backend.h"

namespace partita {

const std::vector<const DeviceBackend*>& CudaDeviceBackends() {
  static const auto& none = *new std::vector<const DeviceBackend*>();
  return none;
}

const std::vector<const DeviceBackend*>& FakeCudaDeviceBackends() { return CudaDeviceBackends(); }

std::string WhyNoGpu() { return "this build is without CUDA"; }

const std::vector<const CommBackend*>& CudaLocalCommBackends() {
  static const auto& none = *new std::vector<const CommBackend*>();
  return none;
}

}  // namespace partita
