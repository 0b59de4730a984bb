#include <memory>
#include <utility>

#include "runtime/base/check.h"
#include "tests/runtime/device/cuda/fake_cuda_state.h"

namespace partita::fake_cuda {
namespace {

cudaError_t StreamCreate(cudaStream_t* stream, unsigned, int priority) {
  ENTER("cudaStreamCreateWithPriority");
  auto* const made = new FakeStream();
  made->priority = priority;
  made->device = device_of_thread;
  current->streams.insert(made);
  *stream = reinterpret_cast<cudaStream_t>(made);
  return cudaSuccess;
}

cudaError_t StreamDestroy(cudaStream_t stream) {
  const cudaError_t error = Enter("cudaStreamDestroy");
  if (current->has_thread) RunUntil([&] { return StreamOf(stream).idle(); });
  CHECK(current->streams.erase(&StreamOf(stream)) == 1);
  delete &StreamOf(stream);
  return error;
}

cudaError_t StreamSynchronize(cudaStream_t stream) {
  ENTER("cudaStreamSynchronize");
  if (StreamOf(stream).graph != nullptr) return cudaErrorStreamCaptureUnsupported;
  RunUntil([&] { return StreamOf(stream).idle(); });
  return current->dead() ? current->error : cudaSuccess;
}

cudaError_t StreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  ENTER("cudaStreamWaitEvent");
  FakeStream& stream = StreamOf(handle);
  const FakeEvent& waited = EventOf(event);
  if (waited.graph == nullptr && stream.graph != nullptr) return cudaErrorStreamCaptureIsolation;
  if (waited.graph == nullptr) {
    if (waited.mark != nullptr) stream.queue.push_back({nullptr, 0, waited.mark, nullptr});
    current->changed.notify_all();
    return cudaSuccess;
  }
  if (stream.graph != nullptr && stream.graph != waited.graph) return cudaErrorStreamCaptureMerge;
  stream.graph = waited.graph;
  stream.frontier.insert(waited.frontier.begin(), waited.frontier.end());
  return cudaSuccess;
}

cudaError_t EventCreate(cudaEvent_t* event, unsigned flags) {
  ENTER("cudaEventCreateWithFlags");
  auto* const made = new FakeEvent();
  made->timed = (flags & cudaEventDisableTiming) == 0;
  made->device = device_of_thread;
  current->events.insert(made);
  *event = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}

cudaError_t EventDestroy(cudaEvent_t event) {
  const cudaError_t error = Enter("cudaEventDestroy");
  CHECK(current->events.erase(&EventOf(event)) == 1);
  delete &EventOf(event);
  return error;
}

cudaError_t EventRecord(cudaEvent_t event, cudaStream_t stream) {
  ENTER("cudaEventRecord");
  if (EventOf(event).device != StreamOf(stream).device) return cudaErrorInvalidResourceHandle;
  EventOf(event).graph = StreamOf(stream).graph;
  EventOf(event).frontier = StreamOf(stream).frontier;
  EventOf(event).mark = nullptr;
  if (StreamOf(stream).graph != nullptr || current->fake->at_once) return cudaSuccess;
  EventOf(event).mark = std::make_shared<Mark>();
  StreamOf(stream).queue.push_back({nullptr, 0, nullptr, EventOf(event).mark});
  current->changed.notify_all();
  return cudaSuccess;
}

cudaError_t EventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  ENTER("cudaEventRecordWithFlags");
  CHECK(flags == cudaEventRecordExternal);
  FakeEvent* const recorded = &EventOf(event);
  recorded->recorded_by_graph = true;
  return Enqueue(stream, [recorded] { recorded->time = current->clock; });
}

cudaError_t EventQuery(cudaEvent_t event) {
  ENTER("cudaEventQuery");
  if (EventOf(event).graph != nullptr) return cudaErrorCapturedEvent;
  const std::shared_ptr<Mark>& mark = EventOf(event).mark;
  return mark == nullptr || mark->reached ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t EventSynchronize(cudaEvent_t event) {
  ENTER("cudaEventSynchronize");
  if (EventOf(event).graph != nullptr) return cudaErrorCapturedEvent;
  const std::shared_ptr<Mark> mark = EventOf(event).mark;
  RunUntil([&] { return mark == nullptr || mark->reached; });
  return current->dead() ? current->error : cudaSuccess;
}

// The time of its latest record, which it must have and keep.
cudaError_t TimeOf(const FakeEvent& event, double* time) {
  if (event.graph != nullptr) return cudaErrorCapturedEvent;
  if (!event.timed) return cudaErrorInvalidResourceHandle;
  *time = event.time;
  if (event.recorded_by_graph) return cudaSuccess;
  if (event.mark == nullptr) return current->fake->at_once ? cudaSuccess : cudaErrorInvalidResourceHandle;
  *time = event.mark->at;
  return event.mark->reached ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t EventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  ENTER("cudaEventElapsedTime");
  double from = 0, to = 0;
  if (const cudaError_t error = TimeOf(EventOf(begin), &from); error != cudaSuccess) return error;
  if (const cudaError_t error = TimeOf(EventOf(end), &to); error != cudaSuccess) return error;
  *milliseconds = static_cast<float>(to - from);
  return cudaSuccess;
}

}  // namespace

void FillStreamFunctions(CudaApi& api) {
  api.cudaEventCreateWithFlags = Call<EventCreate>;
  api.cudaEventDestroy = Call<EventDestroy>;
  api.cudaEventElapsedTime = Call<EventElapsedTime>;
  api.cudaEventQuery = Call<EventQuery>;
  api.cudaEventRecord = Call<EventRecord>;
  api.cudaEventRecordWithFlags = Call<EventRecordWithFlags>;
  api.cudaEventSynchronize = Call<EventSynchronize>;
  api.cudaStreamCreateWithPriority = Call<StreamCreate>;
  // Nothing to make invalid is left behind it.
  api.cudaStreamDestroy = [](cudaStream_t stream) {
    const Turn turn;
    return Keep(StreamDestroy(stream));
  };
  api.cudaStreamSynchronize = Call<StreamSynchronize>;
  api.cudaStreamWaitEvent = Call<StreamWaitEvent>;
}

}  // namespace partita::fake_cuda
