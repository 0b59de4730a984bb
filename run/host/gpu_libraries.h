// The versions of the GPU libraries that this process has loaded.
#ifndef PARTITA_RUN_HOST_GPU_LIBRARIES_H_
#define PARTITA_RUN_HOST_GPU_LIBRARIES_H_

#include <functional>
#include <map>
#include <string>

namespace partita {

// A function of a library, "libnccl.so.2", that is loaded already; null: it is not, or has none of that name.
using LoadedFunction = std::function<void*(const std::string& library, const char* function)>;
LoadedFunction OfThisProcess();

// Name to version of the driver ("cuda-driver": of CUDA, that it is for), cuBLASLt, cuDNN and NCCL, of those that are
// loaded. The function loads nothing, so the result is what a session uses; before a session starts it is empty.
std::map<std::string, std::string> GpuLibraryVersions(const LoadedFunction& find = OfThisProcess());

}  // namespace partita

#endif  // PARTITA_RUN_HOST_GPU_LIBRARIES_H_
