#include "tests/ops/cuda/fibers/kernels.h"

#include <map>

namespace partita::fibers {
namespace {

std::map<const void*, Kernel>& Kernels() {
  static auto& kernels = *new std::map<const void*, Kernel>();
  return kernels;
}

}  // namespace

const void* AddKernel(const void* address, Kernel kernel) {
  Kernels().emplace(address, std::move(kernel));
  return address;
}

Kernel* FindKernel(const void* address) {
  const auto found = Kernels().find(address);
  return found == Kernels().end() ? nullptr : &found->second;
}

std::vector<const void*> KernelAddresses() {
  std::vector<const void*> addresses;
  for (const auto& [address, kernel] : Kernels()) addresses.push_back(address);
  return addresses;
}

std::vector<std::string> Compiled() {
  std::vector<std::string> names;
  for (const auto& [address, kernel] : Kernels()) names.push_back(kernel.name);
  return names;
}

std::vector<std::string> NotLaunched() {
  std::vector<std::string> names;
  for (const auto& [address, kernel] : Kernels()) {
    if (!kernel.was_launched) names.push_back(kernel.name);
  }
  return names;
}

std::string NameOfKernel(const std::string& function) {
  static const std::string& before = *new std::string("kKernel = ");
  const size_t begin = function.find(before) + before.size();
  return function.substr(begin, function.rfind(']') - begin);
}

}  // namespace partita::fibers
