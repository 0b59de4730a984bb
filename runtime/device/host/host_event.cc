#include "runtime/device/host/host_event.h"

namespace partita {

std::shared_ptr<Signal> HostEvent::latest() const {
  std::lock_guard lock(mutex_);
  return signal_;
}

bool HostEvent::Reached() const {
  const std::shared_ptr<Signal> signal = latest();
  return signal == nullptr || signal->Reached(1);
}

absl::Status HostEvent::Synchronize() {
  if (const std::shared_ptr<Signal> signal = latest()) signal->Await(1);
  return absl::OkStatus();
}

}  // namespace partita
