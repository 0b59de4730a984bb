#include "tests/runtime/device/cuda/fake_cuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/device/cuda/cuda_error.h"
#include "runtime/device/cuda/kernels/delay_kernel.h"
#include "runtime/device/cuda/kernels/strided_copy_kernel.h"
#include "tests/runtime/device/cuda/fake_cuda_state.h"

namespace partita::fake_cuda {

State* current = nullptr;

cudaError_t Enter(const char* name) {
  State& state = *current;
  state.fake->calls.push_back(name);
  if (state.failed && IsSticky(state.error)) return state.error;
  if (state.countdown == 0 || --state.countdown != 0) return cudaSuccess;
  state.failed = true;
  return state.error;
}

cudaError_t Enqueue(cudaStream_t handle, std::function<void()> run, double lasts) {
  FakeStream& stream = StreamOf(handle);
  if (stream.graph == nullptr && !current->fake->at_once) {
    stream.queue.push_back({std::move(run), lasts, nullptr, nullptr});
    return cudaSuccess;
  }
  if (stream.graph == nullptr) {
    run();
    current->clock += 1;
    return cudaSuccess;
  }
  const int node = static_cast<int>(stream.graph->nodes.size());
  stream.graph->nodes.push_back({stream.frontier, std::move(run), ++current->last_node, stream.priority});
  stream.frontier = {node};
  if (current->fake->on_node_added) current->fake->on_node_added(current->last_node);
  return cudaSuccess;
}

namespace {

cudaError_t DriverGetVersion(int* version) {
  ENTER("cudaDriverGetVersion");
  *version = current->fake->driver;
  return cudaSuccess;
}

cudaError_t GetDeviceCount(int* count) {
  ENTER("cudaGetDeviceCount");
  *count = current->fake->devices;
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t GetDeviceProperties(cudaDeviceProp* properties, int) {
  ENTER("cudaGetDeviceProperties");
  std::strcpy(properties->name, "Fake GPU");
  properties->major = 9;
  properties->minor = 0;
  properties->multiProcessorCount = 4;
  return cudaSuccess;
}

cudaError_t SetDevice(int device) {
  ENTER("cudaSetDevice");
  return device < current->fake->devices ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t FuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  ENTER("cudaFuncGetAttributes");
  *attributes = {};
  return current->fake->has_code ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}

cudaError_t GetStreamPriorityRange(int* least, int* greatest) {
  ENTER("cudaDeviceGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

int64_t UsedMemory() {
  int64_t used = 0;
  for (const auto& [data, bytes] : current->memory) used += bytes;
  return used;
}

cudaError_t MemGetInfo(size_t* free, size_t* total) {
  ENTER("cudaMemGetInfo");
  *total = static_cast<size_t>(current->fake->memory);
  *free = static_cast<size_t>(current->fake->memory - UsedMemory());
  return cudaSuccess;
}

cudaError_t Malloc(void** data, size_t bytes) {
  ENTER("cudaMalloc");
  if (static_cast<int64_t>(bytes) > current->fake->memory - UsedMemory()) return cudaErrorMemoryAllocation;
  CHECK(posix_memalign(data, 256, bytes) == 0);
  std::memset(*data, 0xA5, bytes);
  current->memory[*data] = static_cast<int64_t>(bytes);
  return cudaSuccess;
}

cudaError_t Free(void* data) {
  const cudaError_t error = Enter("cudaFree");
  CHECK(current->memory.erase(data) == 1);
  std::free(data);
  return error;
}

cudaError_t HostAlloc(void** data, size_t bytes, unsigned) {
  ENTER("cudaHostAlloc");
  CHECK(posix_memalign(data, 256, bytes) == 0);
  current->host_memory.insert(*data);
  return cudaSuccess;
}

cudaError_t FreeHost(void* data) {
  const cudaError_t error = Enter("cudaFreeHost");
  CHECK(current->host_memory.erase(data) == 1);
  std::free(data);
  return error;
}

cudaError_t MemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  ENTER("cudaMemcpyAsync");
  return Enqueue(stream, [=] { std::memcpy(to, from, bytes); });
}

cudaError_t MemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  ENTER("cudaMemsetAsync");
  return Enqueue(stream, [=] { std::memset(to, value, bytes); });
}

cudaError_t LaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t, cudaStream_t stream) {
  ENTER("cudaLaunchKernel");
  const auto kernel = current->fake->kernels.find(function);
  if (kernel == current->fake->kernels.end()) return cudaErrorInvalidDeviceFunction;
  const double lasts = function == DelayKernel() ? *static_cast<const int*>(arguments[0]) : 1;
  return Enqueue(stream, kernel->second(grid, block, arguments), lasts);
}

cudaError_t LaunchHostFunc(cudaStream_t stream, cudaHostFn_t run, void* argument) {
  ENTER("cudaLaunchHostFunc");
  return Enqueue(stream, [=] { run(argument); });
}

cudaError_t StreamCreate(cudaStream_t* stream, unsigned, int priority) {
  ENTER("cudaStreamCreateWithPriority");
  auto* const made = new FakeStream();
  made->priority = priority;
  current->streams.insert(made);
  *stream = reinterpret_cast<cudaStream_t>(made);
  return cudaSuccess;
}

cudaError_t StreamDestroy(cudaStream_t stream) {
  const cudaError_t error = Enter("cudaStreamDestroy");
  CHECK(current->streams.erase(&StreamOf(stream)) == 1);
  delete &StreamOf(stream);
  return error;
}

cudaError_t StreamSynchronize(cudaStream_t stream) {
  ENTER("cudaStreamSynchronize");
  if (StreamOf(stream).graph != nullptr) return cudaErrorStreamCaptureUnsupported;
  RunUntil([&] { return StreamOf(stream).queue.empty(); });
  return cudaSuccess;
}

cudaError_t StreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  ENTER("cudaStreamWaitEvent");
  FakeStream& stream = StreamOf(handle);
  const FakeEvent& waited = EventOf(event);
  if (waited.graph == nullptr && stream.graph != nullptr) return cudaErrorStreamCaptureIsolation;
  if (waited.graph == nullptr) {
    if (waited.mark != nullptr) stream.queue.push_back({nullptr, 0, waited.mark, nullptr});
    return cudaSuccess;
  }
  if (stream.graph != nullptr && stream.graph != waited.graph) return cudaErrorStreamCaptureMerge;
  stream.graph = waited.graph;
  stream.frontier.insert(waited.frontier.begin(), waited.frontier.end());
  return cudaSuccess;
}

cudaError_t EventCreate(cudaEvent_t* event, unsigned) {
  ENTER("cudaEventCreateWithFlags");
  auto* const made = new FakeEvent();
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
  EventOf(event).graph = StreamOf(stream).graph;
  EventOf(event).frontier = StreamOf(stream).frontier;
  EventOf(event).mark = nullptr;
  if (StreamOf(stream).graph != nullptr || current->fake->at_once) return cudaSuccess;
  EventOf(event).mark = std::make_shared<Mark>();
  StreamOf(stream).queue.push_back({nullptr, 0, nullptr, EventOf(event).mark});
  return cudaSuccess;
}

cudaError_t EventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  ENTER("cudaEventRecordWithFlags");
  CHECK(flags == cudaEventRecordExternal);
  FakeEvent* const recorded = &EventOf(event);
  return Enqueue(stream, [recorded] { recorded->time = current->clock; });
}

cudaError_t EventQuery(cudaEvent_t event) {
  ENTER("cudaEventQuery");
  const std::shared_ptr<Mark>& mark = EventOf(event).mark;
  return mark == nullptr || mark->reached ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t EventSynchronize(cudaEvent_t event) {
  ENTER("cudaEventSynchronize");
  if (EventOf(event).graph != nullptr) return cudaErrorCapturedEvent;
  const std::shared_ptr<Mark> mark = EventOf(event).mark;
  RunUntil([&] { return mark == nullptr || mark->reached; });
  return cudaSuccess;
}

cudaError_t EventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  ENTER("cudaEventElapsedTime");
  *milliseconds = static_cast<float>(EventOf(end).time - EventOf(begin).time);
  return cudaSuccess;
}

const char* GetErrorName(cudaError_t) { return "cudaErrorOfTheFake"; }
const char* GetErrorString(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "out of memory" : "fake"; }
cudaError_t GetLastError() { return cudaSuccess; }

std::function<void()> CopyStrided(dim3, dim3, void** arguments) {
  const auto a = *static_cast<const StridedCopyArguments*>(arguments[0]);
  return [a] {
    for (int64_t i = 0; i < a.accesses; ++i) {
      int64_t rest = i, from = 0, to = 0;
      for (int d = 0; d < a.dimensions; ++d) {
        from += rest % a.size[d] * a.from_stride[d];
        to += rest % a.size[d] * a.to_stride[d];
        rest /= a.size[d];
      }
      std::memcpy(a.to + to, a.from + from, static_cast<size_t>(a.width));
    }
  };
}

void FillFunctions(CudaApi& api) {
  api.cudaDriverGetVersion = DriverGetVersion;
  api.cudaDeviceGetStreamPriorityRange = GetStreamPriorityRange;
  api.cudaEventCreateWithFlags = EventCreate;
  api.cudaEventDestroy = EventDestroy;
  api.cudaEventElapsedTime = EventElapsedTime;
  api.cudaEventQuery = EventQuery;
  api.cudaEventRecord = EventRecord;
  api.cudaEventRecordWithFlags = EventRecordWithFlags;
  api.cudaEventSynchronize = EventSynchronize;
  api.cudaFree = Free;
  api.cudaFreeHost = FreeHost;
  api.cudaFuncGetAttributes = FuncGetAttributes;
  api.cudaGetDeviceCount = GetDeviceCount;
  api.cudaGetDeviceProperties = GetDeviceProperties;
  api.cudaGetErrorName = GetErrorName;
  api.cudaGetErrorString = GetErrorString;
  api.cudaGetLastError = GetLastError;
  api.cudaHostAlloc = HostAlloc;
  api.cudaLaunchHostFunc = LaunchHostFunc;
  api.cudaLaunchKernel = LaunchKernel;
  api.cudaMalloc = Malloc;
  api.cudaMemcpyAsync = MemcpyAsync;
  api.cudaMemGetInfo = MemGetInfo;
  api.cudaMemsetAsync = MemsetAsync;
  api.cudaSetDevice = SetDevice;
  api.cudaStreamCreateWithPriority = StreamCreate;
  api.cudaStreamDestroy = StreamDestroy;
  api.cudaStreamSynchronize = StreamSynchronize;
  api.cudaStreamWaitEvent = StreamWaitEvent;
}

}  // namespace
}  // namespace partita::fake_cuda

namespace partita {

FakeCuda::FakeCuda() : state_(std::make_unique<fake_cuda::State>()) {
  CHECK(fake_cuda::current == nullptr);
  state_->fake = this;
  fake_cuda::current = state_.get();
  fake_cuda::FillFunctions(api_);
  fake_cuda::FillGraphFunctions(api_);
  Register(DelayKernel(), [](dim3, dim3, void**) { return [] {}; });
  StridedCopyArguments arguments = {};
  for (const int64_t accesses : {int64_t{1}, int64_t{1} << 40}) {
    for (const int width : {1, 2, 4, 8, 16}) {
      arguments.accesses = accesses;
      arguments.width = width;
      Register(StridedCopyKernel(arguments), fake_cuda::CopyStrided);
    }
  }
}

FakeCuda::~FakeCuda() { fake_cuda::current = nullptr; }

void FakeCuda::FailAt(int64_t call, cudaError_t error) {
  state_->countdown = call;
  state_->error = error;
  state_->failed = false;
}

void FakeCuda::Enqueue(cudaStream_t stream, std::function<void()> run, std::shared_ptr<void> held) {
  CHECK(fake_cuda::Enqueue(stream, std::move(run)) == cudaSuccess);
  fake_cuda::Graph* const graph = fake_cuda::StreamOf(stream).graph;
  if (graph != nullptr) graph->held.push_back(std::move(held));
}

bool FakeCuda::on_device(const void* data) const { return state_->memory.contains(const_cast<void*>(data)); }
bool FakeCuda::pinned(const void* data) const { return state_->host_memory.contains(const_cast<void*>(data)); }

bool FakeCuda::failed() const { return state_->failed; }
double FakeCuda::now() const { return state_->clock; }

int64_t FakeCuda::live() const {
  const fake_cuda::State& s = *state_;
  return static_cast<int64_t>(s.memory.size() + s.host_memory.size() + s.streams.size() + s.events.size() +
                              s.graphs.size() + s.executables.size());
}

}  // namespace partita
