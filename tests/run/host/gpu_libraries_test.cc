// Versions of the libraries of GPUs, asked of stand-ins: this machine need have none.
#include "run/host/gpu_libraries.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "run/host/version.h"

namespace partita {
namespace {

size_t CuDnn() { return 90104; }
size_t CuBlasLt() { return 120803; }
int Driver(int* version) { return *version = 12080, 0; }
int Nccl(int* version) { return *version = 22809, 0; }
int Silent(int*) { return 1; }

using Versions = std::map<std::string, std::string>;

TEST(GpuLibraryVersions, AreOfThoseThatAreLoaded) {
  const auto find = [](const std::string& library, const char*) -> void* {
    if (library == "libcudnn.so.9") return reinterpret_cast<void*>(CuDnn);
    if (library == "libcublasLt.so.12") return reinterpret_cast<void*>(CuBlasLt);
    if (library == "libcuda.so.1") return reinterpret_cast<void*>(Driver);
    return library == "libnccl.so.2" ? reinterpret_cast<void*>(Nccl) : nullptr;
  };
  const Versions all = {{"cublaslt", "12.8.3"}, {"cuda-driver", "12.8"}, {"cudnn", "9.1.4"}, {"nccl", "2.28.9"}};
  EXPECT_EQ(GpuLibraryVersions(find), all);
  EXPECT_EQ(GpuLibraryVersions([](const std::string&, const char*) { return nullptr; }), Versions());
  EXPECT_EQ(GpuLibraryVersions([](const std::string& library, const char*) {
              return library == "libcuda.so.1" ? reinterpret_cast<void*>(Silent) : nullptr;
            }),
            Versions());
}

TEST(LibraryVersions, HasThoseThatReadPictures) {
  const Versions versions = LibraryVersions();
  EXPECT_TRUE(versions.contains("libjpeg-turbo"));
  EXPECT_TRUE(versions.contains("libpng"));
  EXPECT_FALSE(versions.contains("cudnn"));  // no session on a GPU was started
}

}  // namespace
}  // namespace partita
