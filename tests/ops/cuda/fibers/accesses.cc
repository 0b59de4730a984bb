// What code compiled with -fsanitize=thread calls before every access to memory; the sanitizer itself is not linked.
#include <cstdint>

#include "tests/ops/cuda/fibers/block.h"

namespace partita::fibers {
namespace {

// Host code of the .cu files is compiled alike and comes here too, outside of a kernel.
void Touch(const void* address, int64_t bytes, bool store) {
  if (Block* const block = Block::running(); block != nullptr) block->Touch({address, bytes, store});
}

}  // namespace
}  // namespace partita::fibers

#define PARTITA_ACCESS(bytes)                                                                         \
  void __tsan_read##bytes(void* address) { partita::fibers::Touch(address, bytes, false); }           \
  void __tsan_write##bytes(void* address) { partita::fibers::Touch(address, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* address) { partita::fibers::Touch(address, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* address) { partita::fibers::Touch(address, bytes, true); }

extern "C" {
PARTITA_ACCESS(1)
PARTITA_ACCESS(2)
PARTITA_ACCESS(4)
PARTITA_ACCESS(8)
PARTITA_ACCESS(16)
void __tsan_read_range(void* address, size_t bytes) {
  partita::fibers::Touch(address, static_cast<int64_t>(bytes), false);
}
void __tsan_write_range(void* address, size_t bytes) {
  partita::fibers::Touch(address, static_cast<int64_t>(bytes), true);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
}  // extern "C"
