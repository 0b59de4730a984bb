#include "tests/ops/cuda/fibers/memory.h"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "runtime/base/check.h"

// Where the program's variables lie, as the linker says.
extern "C" char __data_start[], _end[];

namespace partita::fibers {
namespace {

constexpr char kPoison = static_cast<char>(0xFF);  // NaN, -1

// The thread's own copy of what is `thread_local` in the program itself, which comes first.
int FindThreadLocals(dl_phdr_info* program, size_t, void* result) {
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    if (program->dlpi_phdr[i].p_type != PT_TLS) continue;
    *static_cast<std::span<char>*>(result) = {static_cast<char*>(program->dlpi_tls_data),
                                              program->dlpi_phdr[i].p_memsz};
  }
  return 1;
}

}  // namespace

void Memory::Add(const std::string& name, const void* begin, int64_t bytes, bool writable) {
  if (bytes <= 0) return;
  const char* const at = static_cast<const char*>(begin);
  const auto [place, is_new] = ranges_.try_emplace(at, Range{name, at, bytes, writable});
  Range& range = place->second;
  if (is_new) return;
  range.name += "=" + name;
  range.bytes = std::max(range.bytes, bytes);
  range.writable = range.writable || writable;
}

Memory::Range* Memory::FindAndKeep(const char* address) {
  const auto behind = ranges_.upper_bound(address);
  if (behind == ranges_.begin()) return nullptr;
  Range* const range = &std::prev(behind)->second;
  last_[oldest_] = range;
  oldest_ = (oldest_ + 1) % last_.size();
  return range;
}

std::string Memory::Wrong(const Access& access) {
  const char* const address = static_cast<const char*>(access.address);
  const char* const verb = access.store ? "stores" : "loads";
  const Range* const range = Find(address);
  if (range == nullptr) return fmt::format("{} {} bytes before all tensors", verb, access.bytes);
  const int64_t first = address - range->begin, last = first + access.bytes;
  if (last > range->bytes) {
    return fmt::format("{} bytes {} to {} of {}, which has {}", verb, first, last, range->name, range->bytes);
  }
  if (access.store && !range->writable) return fmt::format("stores to {}, which is only read", range->name);
  return fmt::format("{} {} bytes at once at a place of {} that is not aligned to them", verb, access.bytes,
                     range->name);
}

const Memory::Range& Memory::range(const std::string& name) const {
  const auto found = std::ranges::find_if(ranges_, [&](const auto& entry) { return entry.second.name == name; });
  CHECK(found != ranges_.end());
  return found->second;
}

int64_t Memory::loaded() const {
  return std::accumulate(ranges_.begin(), ranges_.end(), int64_t{0},
                         [](int64_t sum, const auto& entry) { return sum + entry.second.loaded; });
}

int64_t Memory::stored() const {
  return std::accumulate(ranges_.begin(), ranges_.end(), int64_t{0},
                         [](int64_t sum, const auto& entry) { return sum + entry.second.stored; });
}

SharedMemory::SharedMemory() {
  std::span<char> own;
  dl_iterate_phdr(FindThreadLocals, &own);
  begin_ = own.data();
  written_.resize(own.size());
}

void SharedMemory::Touch(const Access& access) {
  const auto first = static_cast<size_t>(static_cast<const char*>(access.address) - begin_);
  for (size_t i = first; i < first + static_cast<size_t>(access.bytes); ++i) {
    if (!access.store && written_[i] != block_) begin_[i] = kPoison;
    written_[i] = block_;
  }
}

bool IsDeviceVariable(const void* address) { return address >= __data_start && address < _end; }

}  // namespace partita::fibers
