#include "runtime/api/rank/host_transfer.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/alignment.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<std::unique_ptr<HostTransfer>> HostTransfer::Create(Device& device, Stream& stream, int64_t most_bytes,
                                                                   int64_t buffer_bytes) {
  const int64_t needed = std::max<int64_t>(kAlignment, AlignUp(most_bytes));
  std::unique_ptr<HostTransfer> transfer(new HostTransfer(stream, std::min(buffer_bytes, needed)));
  ASSIGN_OR_RETURN(transfer->memory_, device.AllocateHost(2 * transfer->buffer_bytes_));
  for (std::unique_ptr<Event>& event : transfer->passed_) {
    ASSIGN_OR_RETURN(event, device.CreateEvent());
  }
  return transfer;
}

absl::Status HostTransfer::Send(void* to, int64_t bytes, const Fill& fill) {
  return End(SendPieces(static_cast<char*>(to), bytes, fill));
}

absl::Status HostTransfer::Send(void* to, const void* from, int64_t bytes) {
  return Send(to, bytes, [from](char* buffer, int64_t begin, int64_t count) {
    std::memcpy(buffer, static_cast<const char*>(from) + begin, static_cast<size_t>(count));
  });
}

absl::Status HostTransfer::Fetch(void* to, const void* from, int64_t bytes) {
  return End(FetchPieces(static_cast<char*>(to), static_cast<const char*>(from), bytes));
}

absl::Status HostTransfer::SendPieces(char* to, int64_t bytes, const Fill& fill) {
  for (int64_t piece = 0; piece * buffer_bytes_ < bytes; ++piece) {
    const int64_t begin = piece * buffer_bytes_, count = std::min(buffer_bytes_, bytes - begin);
    if (piece >= 2) RETURN_IF_ERROR(passed(piece).Synchronize());
    fill(buffer(piece), begin, count);
    RETURN_IF_ERROR(stream_.Copy(to + begin, buffer(piece), count));
    RETURN_IF_ERROR(stream_.Record(passed(piece)));
  }
  return absl::OkStatus();
}

absl::Status HostTransfer::FetchPieces(char* to, const char* from, int64_t bytes) {
  const auto start = [&](int64_t piece) -> absl::Status {
    const int64_t begin = piece * buffer_bytes_;
    if (begin >= bytes) return absl::OkStatus();
    RETURN_IF_ERROR(stream_.Copy(buffer(piece), from + begin, std::min(buffer_bytes_, bytes - begin)));
    return stream_.Record(passed(piece));
  };
  RETURN_IF_ERROR(start(0));
  for (int64_t piece = 0; piece * buffer_bytes_ < bytes; ++piece) {
    const int64_t begin = piece * buffer_bytes_;
    RETURN_IF_ERROR(start(piece + 1));
    RETURN_IF_ERROR(passed(piece).Synchronize());
    std::memcpy(to + begin, buffer(piece), static_cast<size_t>(std::min(buffer_bytes_, bytes - begin)));
  }
  return absl::OkStatus();
}

absl::Status HostTransfer::End(const absl::Status& status) {
  const absl::Status ended = stream_.Synchronize();
  return status.ok() ? ended : status;
}

}  // namespace partita
