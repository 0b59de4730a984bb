// A binary with GPU code starts everywhere: without a driver its calls return an error.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "tests/tools/bazel/add_one.h"

namespace partita {
namespace {

TEST(CudaLibrary, IsCompiledAndLinkedAgainstOneVersion) {
  int runtime = 0;
  ASSERT_EQ(cudaRuntimeGetVersion(&runtime), cudaSuccess);
  EXPECT_EQ(runtime, CompiledCudaVersion());
  EXPECT_EQ(runtime, CUDART_VERSION);
}

TEST(CudaLibrary, RunsItsKernelOrSaysThereIsNoGpu) {
  int devices = 0;
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  int number = 41;
  const int error = AddOneOnDevice(&number);
  EXPECT_EQ(error == cudaSuccess, counted == cudaSuccess);
  EXPECT_EQ(number, counted == cudaSuccess ? 42 : 41);
}

}  // namespace
}  // namespace partita
