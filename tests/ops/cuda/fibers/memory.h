// The memory that a launch may touch, to the byte: each load and store of a kernel is looked up and counted. Kernels
// are compiled with the calls that the thread sanitizer makes before every access, which come here (accesses.cc).
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_MEMORY_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_MEMORY_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace partita::fibers {

struct Access {
  const void* address;
  int64_t bytes;
  bool store;
};

class Memory {
 public:
  Memory() = default;
  // Ranges are pointed to.
  Memory(Memory&&) = default;
  Memory& operator=(Memory&&) = default;

  struct Range {
    std::string name;
    const char* begin;
    int64_t bytes;
    bool writable;
    int64_t loaded = 0, stored = 0;  // bytes, each time that they are
  };

  // A part of memory; nothing if it is empty. At the place of one that is there (an output in its input's place) both
  // are one, which is writable if either is.
  void Add(const std::string& name, const void* begin, int64_t bytes, bool writable);

  // Counts the access; false: it is not allowed, and Wrong says why.
  bool Touch(const Access& access) {
    Range* const range = Find(static_cast<const char*>(access.address));
    if (range == nullptr || !Allows(*range, access)) return false;
    (access.store ? range->stored : range->loaded) += access.bytes;
    return true;
  }
  std::string Wrong(const Access& access);

  const Range& range(const std::string& name) const;
  int64_t loaded() const;
  int64_t stored() const;

 private:
  // The last that begins at or before `address`; null: none does. A loop mostly continues within few ranges.
  Range* Find(const char* address) {
    for (Range* const range : last_) {
      if (range != nullptr && address >= range->begin && address < range->begin + range->bytes) return range;
    }
    return FindAndKeep(address);
  }
  Range* FindAndKeep(const char* address);

  // Wider accesses than 8 bytes may be the compiler's, of several elements.
  static bool IsAligned(const Access& access) {
    const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(access.bytes & -access.bytes, 8));
    return reinterpret_cast<uintptr_t>(access.address) % alignment == 0;
  }
  static bool Allows(const Range& range, const Access& access) {
    const int64_t first = static_cast<const char*>(access.address) - range.begin;
    return first + access.bytes <= range.bytes && (range.writable || !access.store) && IsAligned(access);
  }

  std::map<const char*, Range> ranges_;  // by begin; they do not overlap
  std::array<Range*, 3> last_ = {};
  size_t oldest_ = 0;
};

// `__shared__` variables: those of the running thread of the host (`thread_local`), which distinguishes them from the
// device's variables. What the block has not stored when it is loaded becomes poison.
class SharedMemory {
 public:
  SharedMemory();
  void BeginBlock() { ++block_; }
  bool Holds(const void* address) const { return address >= begin_ && address < begin_ + written_.size(); }
  void Touch(const Access& access);

 private:
  char* begin_ = nullptr;
  uint32_t block_ = 0;
  std::vector<uint32_t> written_;  // by byte: the last block that has stored there
};

// A variable of the program, which outlives launches.
bool IsDeviceVariable(const void* address);

}  // namespace partita::fibers

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_MEMORY_H_
