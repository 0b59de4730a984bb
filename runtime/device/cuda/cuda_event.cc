#include "runtime/device/cuda/cuda_event.h"

#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<std::unique_ptr<CudaEvent>> CudaEvent::Create(CudaContext* context, bool timing) {
  RETURN_IF_ERROR(context->Activate());
  const unsigned flags = cudaEventBlockingSync | (timing ? 0u : unsigned{cudaEventDisableTiming});
  cudaEvent_t event = nullptr;
  RETURN_IF_CUDA_ERROR(*context, cudaEventCreateWithFlags, &event, flags);
  return std::unique_ptr<CudaEvent>(new CudaEvent(context, event));
}

CudaEvent::~CudaEvent() {
  context_->ActivateToFree();
  context_->api().cudaEventDestroy(event_);
}

bool CudaEvent::Reached() const {
  const cudaError_t error = context_->api().cudaEventQuery(event_);
  if (error == cudaErrorNotReady) {
    context_->api().cudaGetLastError();
    return false;
  }
  // Of a dead device nothing runs any more; its error is reported where the work is waited for.
  return true;
}

absl::Status CudaEvent::Synchronize() {
  RETURN_IF_ERROR(context_->Activate());
  return context_->Check(context_->api().cudaEventSynchronize(event_), "cudaEventSynchronize");
}

absl::StatusOr<double> CudaMillisecondsBetween(CudaContext& context, const CudaEvent& begin, const CudaEvent& end) {
  float milliseconds = 0;
  RETURN_IF_CUDA_ERROR(context, cudaEventElapsedTime, &milliseconds, begin.handle(), end.handle());
  return milliseconds;
}

}  // namespace partita
