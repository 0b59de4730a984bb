// An event of a GPU. Waiting on the host blocks in the kernel and does not spin.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_CUDA_EVENT_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_CUDA_EVENT_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/device/cuda/cuda_context.h"
#include "runtime/device/event.h"

namespace partita {

class CudaEvent : public Event {
 public:
  // `timing`: its time can be read (CudaMillisecondsBetween); such an event costs more.
  static absl::StatusOr<std::unique_ptr<CudaEvent>> Create(CudaContext* context, bool timing = false);
  ~CudaEvent() override;

  bool Reached() const override;
  absl::Status Synchronize() override;

  cudaEvent_t handle() const { return event_; }

 private:
  friend class CudaStream;
  CudaEvent(CudaContext* context, cudaEvent_t event) : context_(context), event_(event) {}

  CudaContext* const context_;
  cudaEvent_t const event_;
  uint64_t capture_ = 0;  // the capture of the latest record; 0: it was outside
};

// Both were reached.
absl::StatusOr<double> CudaMillisecondsBetween(CudaContext& context, const CudaEvent& begin, const CudaEvent& end);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_CUDA_EVENT_H_
