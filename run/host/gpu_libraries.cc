#include "run/host/gpu_libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>

namespace partita {
namespace {

// Any that there may be: which one a program takes is known where it was built with CUDA alone.
constexpr int kFirstMajor = 8, kLastMajor = 30;

// "9.1.4" of 90104, as a major version makes it: cuDNN and cuBLASLt.
std::string OfTenThousands(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

using AskSize = size_t (*)();
using AskInt = int (*)(int* version);  // 0: it answers

std::string VersionOf(const LoadedFunction& find, const char* library, const char* function) {
  for (int major = kFirstMajor; major <= kLastMajor; ++major) {
    void* const ask = find(fmt::format("{}.so.{}", library, major), function);
    if (ask != nullptr) return OfTenThousands(reinterpret_cast<AskSize>(ask)());
  }
  return "";
}

// -1: it is not loaded, or does not answer.
int NumberOf(const LoadedFunction& find, const char* library, const char* function) {
  void* const ask = find(library, function);
  int version = -1;
  if (ask == nullptr || reinterpret_cast<AskInt>(ask)(&version) != 0) return -1;
  return version;
}

}  // namespace

LoadedFunction OfThisProcess() {
  return [](const std::string& library, const char* function) -> void* {
    void* const loaded = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    return loaded == nullptr ? nullptr : dlsym(loaded, function);
  };
}

std::map<std::string, std::string> GpuLibraryVersions(const LoadedFunction& find) {
  std::map<std::string, std::string> versions = {{"cublaslt", VersionOf(find, "libcublasLt", "cublasLtGetVersion")},
                                                 {"cudnn", VersionOf(find, "libcudnn", "cudnnGetVersion")}};
  std::erase_if(versions, [](const auto& entry) { return entry.second.empty(); });
  const int driver = NumberOf(find, "libcuda.so.1", "cuDriverGetVersion");
  if (driver > 0) versions["cuda-driver"] = fmt::format("{}.{}", driver / 1000, driver % 1000 / 10);
  const int nccl = NumberOf(find, "libnccl.so.2", "ncclGetVersion");
  if (nccl > 0) versions["nccl"] = OfTenThousands(static_cast<size_t>(nccl));
  return versions;
}

}  // namespace partita
