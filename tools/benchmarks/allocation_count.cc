#include "tools/benchmarks/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> allocations{0};

void* Count(void* memory) {
  if (memory == nullptr) std::abort();
  allocations.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void* Allocate(std::size_t bytes) { return Count(std::malloc(bytes == 0 ? 1 : bytes)); }

void* Allocate(std::size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  return Count(std::aligned_alloc(align, (bytes / align + 1) * align));
}

}  // namespace

void* operator new(std::size_t bytes) { return Allocate(bytes); }
void* operator new[](std::size_t bytes) { return Allocate(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return Allocate(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return Allocate(bytes, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace partita {

int64_t AllocationCount() { return allocations.load(std::memory_order_relaxed); }

}  // namespace partita
