// The kernels that can be launched on fibers, by the address that a queue is given: CUDA's compiler knows what to do
// with an address and an array of arguments, here the kernel's type must be known. All are here from the program's
// start, launched or not.
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_KERNELS_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace partita::fibers {

struct Kernel {
  std::string name;  // with its arguments as a template
  void (*call)(const void* address, void** arguments);
  // What a thread does, later: the arguments are copied now.
  std::function<void()> (*bind)(const void* address, void** arguments);
  size_t argument_bytes;
  bool was_launched = false;
};

const void* AddKernel(const void* address, Kernel kernel);
// Null: it was not added.
Kernel* FindKernel(const void* address);
std::vector<const void*> KernelAddresses();
// The names of all, and of those that this process has not launched.
std::vector<std::string> Compiled();
std::vector<std::string> NotLaunched();

// What is between "kKernel = " and the last "]" of a function's name.
std::string NameOfKernel(const std::string& function);

// The arguments are copied as by a launch; that is not the kernel's reading of memory.
template <typename... P, size_t... I>
__attribute__((no_sanitize("thread"))) void Call(const void* address, void** arguments, std::index_sequence<I...>) {
  const auto kernel = reinterpret_cast<void (*)(P...)>(const_cast<void*>(address));
  kernel(*static_cast<std::remove_const_t<P>*>(arguments[I])...);
}

template <typename... P, size_t... I>
std::function<void()> Bind(const void* address, void** arguments, std::index_sequence<I...>) {
  const auto kernel = reinterpret_cast<void (*)(P...)>(const_cast<void*>(address));
  return
      [kernel, copies = std::tuple<std::remove_const_t<P>...>(*static_cast<std::remove_const_t<P>*>(arguments[I])...)] {
        std::apply(kernel, copies);
      };
}

template <typename... P>
const void* AddKernelOf(void (*kernel)(P...), const std::string& name) {
  const auto call = [](const void* function, void** arguments) {
    Call<P...>(function, arguments, std::index_sequence_for<P...>());
  };
  const auto bind = [](const void* function, void** arguments) {
    return Bind<P...>(function, arguments, std::index_sequence_for<P...>());
  };
  return AddKernel(reinterpret_cast<const void*>(kernel), {name, call, bind, (sizeof(P) + ... + 0)});
}

template <auto kKernel>
const void* Added() {
  return AddKernelOf(kKernel, NameOfKernel(__PRETTY_FUNCTION__));
}

template <auto kKernel>
inline const void* const kAddress = Added<kKernel>();

}  // namespace partita::fibers

// How .cu files name a kernel to its queue (runtime/base/kernel_address.h).
#define PARTITA_KERNEL_ADDRESS(...) (partita::fibers::kAddress<__VA_ARGS__>)

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_KERNELS_H_
