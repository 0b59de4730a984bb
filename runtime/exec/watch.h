// Tasks that tests and diagnoses put between the launches of a schedule: they copy values right after the launch that
// writes them, look for values that are not finite, and poison bytes that mean nothing.
#ifndef PARTITA_RUNTIME_EXEC_WATCH_H_
#define PARTITA_RUNTIME_EXEC_WATCH_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "graph/value/dtype.h"
#include "runtime/device/device.h"

namespace partita {

// One task on one range of bytes. Must stay where it is while a step may run.
struct Watch {
  enum class Kind : uint8_t { kCopy, kFinite, kPoison };

  Kind kind = Kind::kCopy;
  DType dtype = DType::kF32;  // kFinite
  char* data = nullptr;       // what is copied, looked at or poisoned
  int64_t bytes = 0;
  std::unique_ptr<Arena> copy;  // kCopy: as of the last step, in memory of Device::AllocateHost
  bool finite = true;           // kFinite: as of the last step

  // Does it here and now, in the host's memory.
  void Run();

  // Does it on `stream` in its order; kInvalidArgument: not a host stream, and not kCopy.
  absl::Status Enqueue(Stream& stream);
};

// All bytes set: a NaN in every floating type, -1 in the signed ones. A kernel that reads it shows.
inline constexpr unsigned char kPoisonByte = 0xFF;

bool AllFinite(const void* data, int64_t elements, DType dtype);

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_WATCH_H_
