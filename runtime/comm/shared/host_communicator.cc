#include "runtime/comm/shared/host_communicator.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/device/host/host_stream.h"

namespace partita {

absl::Status HostCommunicator::CheckStream(CollectiveKind kind, const Stream& stream) const {
  if (dynamic_cast<const HostStream*>(&stream) != nullptr) return absl::OkStatus();
  return InvalidArgument("{}: stream '{}' is not of the host device", Name(kind), stream.name());
}

absl::Status HostCommunicator::RunCall(void* argument) {
  auto& call = *static_cast<CommCall*>(argument);
  HostCommunicator& communicator = *call.communicator;
  call.wire = 0;
  call.waited = 0;
  call.flown.sequence = communicator.runs_.fetch_add(1, std::memory_order_relaxed) + 1;
  call.flight = communicator.ring_.Begin(call.flown);
  absl::Status status = communicator.Run(call);
  communicator.ring_.End(call.flight, status.ok());
  communicator.Count(call);
  call.finished.store(true, std::memory_order_release);
  return status;
}

absl::Status HostCommunicator::EnqueueCall(std::unique_ptr<CommCall> call, Stream& stream) {
  call->communicator = this;
  call->flight_ring = &ring_;
  call->flown = {group_, 0, Name(call->kind), call->CommonCount(), Name(call->in.dtype)};
  RETURN_IF_ERROR(Prepare(*call));
  auto& host_stream = static_cast<HostStream&>(stream);
  std::erase_if(once_, [](const auto& old) { return old->finished.load(std::memory_order_acquire); });
  CommCall* const record = call.get();
  (host_stream.capturing() ? captured_ : once_).push_back(std::move(call));
  return host_stream.Enqueue({RunCall, record});
}

}  // namespace partita
