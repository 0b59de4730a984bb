#include "runtime/device/host/shared_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <map>
#include <mutex>

namespace partita {
namespace {

// All arenas that live, by their first bytes. Never destroyed: arenas may be given back while the process ends.
struct Registry {
  struct Entry {
    int64_t bytes = 0, descriptor = -1, arena = 0;
  };
  std::mutex mutex;
  std::map<uintptr_t, Entry> arenas;
  int64_t last = 0;
};

Registry& AllArenas() {
  static auto& registry = *new Registry();
  return registry;
}

class SharedArena : public Arena {
 public:
  SharedArena(void* data, int64_t bytes, int descriptor) : data_(data), bytes_(bytes), descriptor_(descriptor) {
    Registry& registry = AllArenas();
    const std::lock_guard lock(registry.mutex);
    registry.arenas[reinterpret_cast<uintptr_t>(data)] = {bytes, descriptor, ++registry.last};
  }
  ~SharedArena() override {
    Registry& registry = AllArenas();
    {
      const std::lock_guard lock(registry.mutex);
      registry.arenas.erase(reinterpret_cast<uintptr_t>(data_));
    }
    munmap(data_, static_cast<size_t>(bytes_));
    close(descriptor_);
  }
  void* data() const override { return data_; }
  int64_t bytes() const override { return bytes_; }

 private:
  void* const data_;
  const int64_t bytes_;
  const int descriptor_;
};

// A larger file would end the process by a signal.
bool MayBeFile(int64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= static_cast<rlim_t>(bytes);
}

}  // namespace

std::unique_ptr<Arena> AllocateSharedArena(int64_t bytes) {
  if (bytes <= 0 || !MayBeFile(bytes)) return nullptr;
  const int descriptor = memfd_create("partita arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return nullptr;
  void* data = MAP_FAILED;
  if (ftruncate(descriptor, bytes) == 0 &&
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  if (data != MAP_FAILED) return std::make_unique<SharedArena>(data, bytes, descriptor);
  close(descriptor);
  return nullptr;
}

SharedPlace FindSharedPlace(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  Registry& registry = AllArenas();
  const std::lock_guard lock(registry.mutex);
  auto found = registry.arenas.upper_bound(address);
  if (found == registry.arenas.begin()) return {};
  --found;
  const auto offset = static_cast<int64_t>(address - found->first);
  if (offset >= found->second.bytes) return {};
  return {found->second.descriptor, found->second.arena, offset};
}

}  // namespace partita
