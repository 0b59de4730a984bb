#include "runtime/comm/processes/peer_arenas.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace partita {

PeerArenas::~PeerArenas() {
  for (const auto& [arena, mapping] : mappings_) {
    if (mapping.data != nullptr) munmap(mapping.data, static_cast<size_t>(mapping.bytes));
  }
}

const char* PeerArenas::Find(pid_t process, const SharedPlace& place, int64_t bytes) {
  if (place.descriptor < 0) return nullptr;
  const auto [found, is_new] = mappings_.try_emplace({process, place.arena});
  Mapping& mapping = found->second;
  if (is_new) mapping = Map(process, place.descriptor);
  const bool fits = place.offset >= 0 && bytes <= mapping.bytes && place.offset <= mapping.bytes - bytes;
  return mapping.data != nullptr && fits ? static_cast<const char*>(mapping.data) + place.offset : nullptr;
}

// Only of a file that cannot become shorter under the feet of who reads it.
PeerArenas::Mapping PeerArenas::Map(pid_t process, int64_t descriptor) {
  const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  Mapping mapping;
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(file, &status) == 0 && status.st_size > 0) {
    void* const data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_SHARED, file, 0);
    if (data != MAP_FAILED) mapping = {data, status.st_size};
  }
  close(file);
  return mapping;
}

}  // namespace partita
