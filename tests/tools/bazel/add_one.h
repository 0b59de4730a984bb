// A kernel, and what of CUDA it is compiled against: the smallest library of a .cu file.
#ifndef PARTITA_TESTS_TOOLS_BAZEL_ADD_ONE_H_
#define PARTITA_TESTS_TOOLS_BAZEL_ADD_ONE_H_

namespace partita {

// CUDART_VERSION of the headers.
int CompiledCudaVersion();

// Adds one to a number on GPU 0. Returns a cudaError_t; without a driver or a GPU nothing is done.
int AddOneOnDevice(int* number);

}  // namespace partita

#endif  // PARTITA_TESTS_TOOLS_BAZEL_ADD_ONE_H_
