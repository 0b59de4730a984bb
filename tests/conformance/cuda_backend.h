// The backends of a GPU; in a build without CUDA there are none (no_cuda_backend.cc).
#ifndef PARTITA_TESTS_CONFORMANCE_CUDA_BACKEND_H_
#define PARTITA_TESTS_CONFORMANCE_CUDA_BACKEND_H_

#include <string>
#include <vector>

#include "tests/conformance/comm_backend.h"
#include "tests/conformance/device_backend.h"

namespace partita {

// "cuda" where there is a GPU. Never freed.
const std::vector<const DeviceBackend*>& CudaDeviceBackends();

// "fake_cuda": streams of the fake runtime, wherever CUDA is built. One device at a time. Never freed.
const std::vector<const DeviceBackend*>& FakeCudaDeviceBackends();

// Why there is none; empty if there is.
std::string WhyNoGpu();

// Communicators whose ranks one thread walks together: "cuda_local" where there is a GPU, and "fake_cuda_local" over
// the fake runtime, wherever CUDA is built.
const std::vector<const CommBackend*>& CudaLocalCommBackends();

}  // namespace partita

#endif  // PARTITA_TESTS_CONFORMANCE_CUDA_BACKEND_H_
