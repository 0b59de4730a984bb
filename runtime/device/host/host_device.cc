#include "runtime/device/host/host_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/alignment.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/device/host/host_captured_step.h"
#include "runtime/device/host/host_event.h"
#include "runtime/device/host/host_stream.h"
#include "runtime/device/host/shared_arena.h"

namespace partita {
namespace {

struct Free {
  void operator()(void* pointer) const { std::free(pointer); }
};

// Where systems give memory in larger pages to who asks, one is so large (x86-64, and most others). Rows of a matrix
// lie in pages of their own otherwise, and loops wait while the machine looks up where.
constexpr int64_t kLargePage = int64_t{2} << 20;

// Memory that nobody has touched yet; null: there is none.
std::unique_ptr<void, Free> Untouched(int64_t bytes) {
  const bool large = bytes >= kLargePage;
  void* data = nullptr;
  if (posix_memalign(&data, large ? kLargePage : kAlignment, bytes) != 0) return nullptr;
  // Of whole pages, so that it takes no more memory. What does not come of it costs time alone.
  if (large) madvise(data, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  return std::unique_ptr<void, Free>(data);
}

class HostArena : public Arena {
 public:
  HostArena(std::unique_ptr<void, Free> data, int64_t bytes) : data_(std::move(data)), bytes_(bytes) {}
  void* data() const override { return data_.get(); }
  int64_t bytes() const override { return bytes_; }

 private:
  const std::unique_ptr<void, Free> data_;
  const int64_t bytes_;
};

}  // namespace

HostDevice::HostDevice(HostDeviceOptions options, std::string name)
    : options_(std::move(options)), name_(std::move(name)) {}

HostDevice::~HostDevice() = default;

absl::StatusOr<std::unique_ptr<Stream>> HostDevice::CreateStream(std::string name, StreamPriority priority) {
  ASSIGN_OR_RETURN(
      std::unique_ptr<HostStream> stream,
      HostStream::Create(std::move(name), streams_created_, this, options_, priority == StreamPriority::kRaised));
  ++streams_created_;
  return stream;
}

absl::StatusOr<std::unique_ptr<Event>> HostDevice::CreateEvent() { return std::make_unique<HostEvent>(); }

absl::StatusOr<std::unique_ptr<Arena>> HostDevice::Allocate(int64_t bytes) {
  if (bytes < 0) return InvalidArgument("device '{}': cannot allocate {} bytes", name_, bytes);
  // An arena is touched at once: one that is larger than what is free would end the process instead of this call.
  RETURN_IF_ERROR(CheckMemory(fmt::format("device '{}'", name_), bytes));
  if (options_.shares_arenas && bytes >= kLeastSharedBytes) {
    if (std::unique_ptr<Arena> shared = AllocateSharedArena(bytes); shared != nullptr) {
      std::memset(shared->data(), 0, bytes);
      return shared;
    }
  }
  const int64_t taken = std::max(bytes, kAlignment);
  std::unique_ptr<void, Free> data = Untouched(taken);
  if (data == nullptr) return ResourceExhausted("device '{}': there is no memory for {} bytes", name_, bytes);
  std::memset(data.get(), 0, taken);
  return std::make_unique<HostArena>(std::move(data), bytes);
}

absl::StatusOr<DeviceMemory> HostDevice::Memory() {
  const HostMemory memory = MeasureMemory();
  return DeviceMemory{memory.free, memory.total};
}

absl::Status HostDevice::BeginCapture(std::span<Stream* const> streams) {
  if (capture_ != nullptr) {
    return absl::FailedPreconditionError(fmt::format("device '{}': a capture is under way", name_));
  }
  std::vector<HostStream*> captured;
  for (Stream* stream : streams) {
    auto* const host_stream = dynamic_cast<HostStream*>(stream);
    if (host_stream == nullptr || host_stream->device_ != this) {
      return InvalidArgument("device '{}': cannot capture stream '{}' of another device", name_,
                             stream == nullptr ? "" : stream->name());
    }
    if (std::ranges::count(captured, host_stream) != 0) {
      return InvalidArgument("device '{}': stream '{}' is named twice in a capture", name_, stream->name());
    }
    captured.push_back(host_stream);
  }
  capture_ = std::make_unique<HostCapturedStep>(options_.on_failure);
  for (size_t i = 0; i < captured.size(); ++i) {
    capture_->AddPart(captured[i]);
    captured[i]->capture_ = capture_.get();
    captured[i]->capture_part_ = static_cast<int>(i);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CapturedStep>> HostDevice::EndCapture() {
  if (capture_ == nullptr) {
    return absl::FailedPreconditionError(fmt::format("device '{}': no capture is under way", name_));
  }
  std::unique_ptr<HostCapturedStep> step = std::move(capture_);
  RETURN_IF_ERROR(step->Finish());
  return step;
}

}  // namespace partita
