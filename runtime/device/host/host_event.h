// An event of the host device. Each record has its own signal, so a wait refers to the latest record at the time when
// the wait was enqueued, regardless of later records on any stream.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_HOST_EVENT_H_
#define PARTITA_RUNTIME_DEVICE_HOST_HOST_EVENT_H_

#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/device/event.h"
#include "runtime/device/host/signal.h"

namespace partita {

class HostEvent : public Event {
 public:
  bool Reached() const override;
  absl::Status Synchronize() override;

 private:
  friend class HostStream;

  std::shared_ptr<Signal> latest() const;

  mutable std::mutex mutex_;        // the host may wait on one thread while another records
  std::shared_ptr<Signal> signal_;  // of the latest record outside of captures; reaches 1

  uint64_t capture_ = 0;               // the capture of the latest record; 0: it was outside
  Signal* captured_signal_ = nullptr;  // owned by the captured step; reaches the replay number
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_HOST_EVENT_H_
