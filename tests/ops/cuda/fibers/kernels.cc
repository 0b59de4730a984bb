#include "tests/ops/cuda/fibers/kernels.h"

#include <cxxabi.h>

#include <cstdlib>
#include <map>
#include <memory>

namespace partita::fibers {
namespace {

std::map<const void*, Kernel>& Kernels() {
  static auto& kernels = *new std::map<const void*, Kernel>();
  return kernels;
}

}  // namespace

void AddKernel(const void* address, const Kernel& kernel) { Kernels().emplace(address, kernel); }

const Kernel* FindKernel(const void* address) {
  const auto found = Kernels().find(address);
  return found == Kernels().end() ? nullptr : &found->second;
}

std::string NameOf(const Kernel& kernel) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(kernel.type->name(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? name.get() : kernel.type->name();
}

}  // namespace partita::fibers
