// Arenas that other processes of the same user can map to read: files without a name (memfd) with a sealed size.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_SHARED_ARENA_H_
#define PARTITA_RUNTIME_DEVICE_HOST_SHARED_ARENA_H_

#include <cstdint>
#include <memory>

#include "runtime/device/device.h"

namespace partita {

// Of an arena that a device shares; a smaller one is not worth a descriptor. So what is as large, wherever it lies in
// an arena, can be read by others.
inline constexpr int64_t kLeastSharedBytes = 96 << 10;

// Where bytes of this process lie for another one, which opens the descriptor among those of this one (/proc). Plain:
// it may be sent.
struct SharedPlace {
  int64_t descriptor = -1;  // below 0: in no such arena
  int64_t arena = 0;        // which of those that the process ever had
  int64_t offset = 0;       // in it
};

// Its pages are zero, and not there yet. Null: the system has none, or lets this process make no file so large.
std::unique_ptr<Arena> AllocateSharedArena(int64_t bytes);

// Thread-safe.
SharedPlace FindSharedPlace(const void* data);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_SHARED_ARENA_H_
