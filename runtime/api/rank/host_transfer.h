// Moves bytes between a device that the host does not reach and any memory of the host, through two pinned buffers of
// bounded size.
//
// One buffer travels while the host fills or reads the other one, so the pinned memory does not grow with what is
// moved.
#ifndef PARTITA_RUNTIME_API_RANK_HOST_TRANSFER_H_
#define PARTITA_RUNTIME_API_RANK_HOST_TRANSFER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace partita {

// Thread-compatible. Every call blocks until its bytes have arrived; after an error nothing is in flight any more.
class HostTransfer {
 public:
  // A multiple of the size of every element type.
  static constexpr int64_t kBufferBytes = int64_t{16} << 20;

  // `most_bytes`: the most that a call will move; smaller buffers do then. `stream` outlives the transfer. Errors:
  // those of Device::AllocateHost and CreateEvent.
  static absl::StatusOr<std::unique_ptr<HostTransfer>> Create(Device& device, Stream& stream, int64_t most_bytes,
                                                              int64_t buffer_bytes = kBufferBytes);

  // Writes the bytes [begin, begin + bytes) of what is sent to `to`.
  using Fill = std::function<void(char* to, int64_t begin, int64_t bytes)>;
  absl::Status Send(void* to, int64_t bytes, const Fill& fill);
  absl::Status Send(void* to, const void* from, int64_t bytes);
  absl::Status Fetch(void* to, const void* from, int64_t bytes);

 private:
  HostTransfer(Stream& stream, int64_t buffer_bytes) : stream_(stream), buffer_bytes_(buffer_bytes) {}

  absl::Status SendPieces(char* to, int64_t bytes, const Fill& fill);
  absl::Status FetchPieces(char* to, const char* from, int64_t bytes);
  // Waits for all that was enqueued, also where `status` is an error.
  absl::Status End(const absl::Status& status);

  char* buffer(int64_t piece) const { return static_cast<char*>(memory_->data()) + piece % 2 * buffer_bytes_; }
  Event& passed(int64_t piece) const { return *passed_[static_cast<size_t>(piece % 2)]; }

  Stream& stream_;
  const int64_t buffer_bytes_;
  std::unique_ptr<Arena> memory_;
  std::array<std::unique_ptr<Event>, 2> passed_;  // by buffer: what it was last used for
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_RANK_HOST_TRANSFER_H_
