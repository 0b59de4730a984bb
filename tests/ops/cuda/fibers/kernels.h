// The kernels that can be launched on fibers, by the address that a queue is given: CUDA's compiler knows what to do
// with an address and an array of arguments, here the kernel's type must be known.
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_KERNELS_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace partita::fibers {

struct Kernel {
  void (*call)(const void* address, void** arguments);
  const std::type_info* type;  // says the body's name
  size_t argument_bytes;
};

void AddKernel(const void* address, const Kernel& kernel);
// Null: nobody has added it.
const Kernel* FindKernel(const void* address);
// The types of its arguments, for messages.
std::string NameOf(const Kernel& kernel);

// The arguments are copied as by a launch; that is not the kernel's reading of memory.
template <typename... P, size_t... I>
__attribute__((no_sanitize("thread"))) void Call(const void* address, void** arguments, std::index_sequence<I...>) {
  const auto kernel = reinterpret_cast<void (*)(P...)>(const_cast<void*>(address));
  kernel(*static_cast<std::remove_const_t<P>*>(arguments[I])...);
}

// The address of a kernel, which can be launched from now on.
template <typename... P>
const void* KernelAddress(void (*kernel)(P...)) {
  const void* const address = reinterpret_cast<const void*>(kernel);
  const auto call = [](const void* function, void** arguments) {
    Call<P...>(function, arguments, std::index_sequence_for<P...>());
  };
  AddKernel(address, {call, &typeid(void(P...)), (sizeof(P) + ... + 0)});
  return address;
}

}  // namespace partita::fibers

// How ops/cuda/loops/loops.h names a kernel to its queue.
#define PARTITA_KERNEL_ADDRESS(kernel) partita::fibers::KernelAddress(kernel)

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_KERNELS_H_
