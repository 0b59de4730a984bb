#include "tests/runtime/device/cuda/fake_cuda.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/device/cuda/kernels/delay_kernel.h"
#include "runtime/device/cuda/kernels/strided_copy_kernel.h"
#include "tests/runtime/device/cuda/fake_cuda_state.h"

namespace partita::fake_cuda {

State* current = nullptr;
thread_local int device_of_thread = 0;
thread_local bool inside_host_function = false;

namespace {
thread_local cudaError_t last_error = cudaSuccess;
}

cudaError_t Keep(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

void Invalidate(cudaStream_t stream) {
  if (stream != nullptr && StreamOf(stream).graph != nullptr) StreamOf(stream).graph->invalid = true;
}

cudaError_t Enter(const char* name) {
  State& state = *current;
  if (!state.has_thread) state.fake->calls.push_back(name);
  if (inside_host_function) return cudaErrorNotPermitted;
  if (state.dead()) return state.error;
  if (state.countdown == 0 || --state.countdown != 0) return cudaSuccess;
  state.failed = true;
  return state.error;
}

int OwnerOf(const void* data, int64_t bytes) {
  const auto* const at = static_cast<const char*>(data);
  auto found = current->memory.upper_bound(const_cast<char*>(at));
  if (found == current->memory.begin()) return kUnknown;
  --found;
  return at + bytes <= found->first + found->second.bytes ? found->second.owner : kUnknown;
}

bool IsKnown(const void* data, size_t bytes) { return OwnerOf(data, static_cast<int64_t>(bytes)) != kUnknown; }

cudaError_t Enqueue(cudaStream_t handle, std::function<void()> run, double lasts) {
  FakeStream& stream = StreamOf(handle);
  if (stream.graph == nullptr && !current->fake->at_once) {
    stream.queue.push_back({std::move(run), lasts, nullptr, nullptr});
    current->changed.notify_all();
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

cudaError_t GetDeviceProperties(cudaDeviceProp* properties, int device) {
  ENTER("cudaGetDeviceProperties");
  std::snprintf(properties->name, sizeof properties->name, "%s", current->fake->model.c_str());
  properties->pciBusID = device;
  properties->major = 9;
  properties->minor = 0;
  properties->multiProcessorCount = 4;
  return cudaSuccess;
}

cudaError_t SetDevice(int device) {
  ENTER("cudaSetDevice");
  if (device < 0 || device >= current->fake->devices) return cudaErrorInvalidDevice;
  device_of_thread = device;
  return cudaSuccess;
}

cudaError_t FuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  ENTER("cudaFuncGetAttributes");
  *attributes = {};
  if (!current->fake->has_code) return cudaErrorNoKernelImageForDevice;
  current->loaded.insert({device_of_thread, function});
  return cudaSuccess;
}

cudaError_t GetStreamPriorityRange(int* least, int* greatest) {
  ENTER("cudaDeviceGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

// Of the GPU of the thread.
int64_t FreeMemory() {
  int64_t free = current->fake->memory;
  for (const auto& [begin, allocation] : current->memory) {
    if (allocation.owner == device_of_thread) free -= allocation.bytes;
  }
  return free;
}

cudaError_t MemGetInfo(size_t* free, size_t* total) {
  ENTER("cudaMemGetInfo");
  *total = static_cast<size_t>(current->fake->memory);
  *free = static_cast<size_t>(FreeMemory());
  return cudaSuccess;
}

// Freshly allocated bytes are poison.
void Allocate(void** data, size_t bytes, int owner) {
  CHECK(posix_memalign(data, 256, bytes) == 0);
  std::memset(*data, 0xA5, bytes);
  current->memory[static_cast<char*>(*data)] = {static_cast<int64_t>(bytes), owner};
}

// Waits for everything that was enqueued, as cudaFree and cudaFreeHost do.
cudaError_t FreeAllocation(void* data, bool of_device) {
  const auto found = current->memory.find(static_cast<char*>(data));
  if (found == current->memory.end() || (found->second.owner >= 0) != of_device) return cudaErrorInvalidValue;
  if (current->has_thread) RunUntil(AllIdle);
  std::memset(data, 0xDD, static_cast<size_t>(found->second.bytes));
  current->memory.erase(found);
  std::free(data);
  return cudaSuccess;
}

cudaError_t Malloc(void** data, size_t bytes) {
  ENTER("cudaMalloc");
  if (static_cast<int64_t>(bytes) > FreeMemory()) return cudaErrorMemoryAllocation;
  Allocate(data, bytes, device_of_thread);
  return cudaSuccess;
}

cudaError_t Free(void* data) {
  const cudaError_t error = Enter("cudaFree");
  const cudaError_t freed = FreeAllocation(data, true);
  return error == cudaSuccess ? freed : error;
}

cudaError_t HostAlloc(void** data, size_t bytes, unsigned) {
  ENTER("cudaHostAlloc");
  Allocate(data, bytes, kPinned);
  return cudaSuccess;
}

cudaError_t FreeHost(void* data) {
  const cudaError_t error = Enter("cudaFreeHost");
  const cudaError_t freed = FreeAllocation(data, false);
  return error == cudaSuccess ? freed : error;
}

// A copy to or from pageable memory of the host cannot be captured, and is not asynchronous outside of captures: what
// is read was read when the call returns, and what is written was written.
cudaError_t MemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  ENTER("cudaMemcpyAsync");
  if (!current->has_thread || (IsKnown(to, bytes) && IsKnown(from, bytes))) {
    return Enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  }
  if (StreamOf(stream).graph != nullptr) return cudaErrorStreamCaptureUnsupported;
  if (IsKnown(to, bytes)) {
    const auto* const begin = static_cast<const char*>(from);
    const std::vector<char> staged(begin, begin + bytes);
    return Enqueue(stream, [=] { std::memcpy(to, staged.data(), bytes); });
  }
  Enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  RunUntil([&] { return StreamOf(stream).idle(); });
  return cudaSuccess;
}

cudaError_t MemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  ENTER("cudaMemsetAsync");
  if (current->has_thread && !IsKnown(to, bytes)) return cudaErrorInvalidValue;
  return Enqueue(stream, [=] { std::memset(to, value, bytes); });
}

bool IsLaunchable(dim3 grid, dim3 block, size_t shared_bytes) {
  return grid.x >= 1 && grid.x <= 0x7fffffffu && grid.y >= 1 && grid.y <= 65535 && grid.z >= 1 && grid.z <= 65535 &&
         block.x >= 1 && block.y >= 1 && block.z >= 1 && block.z <= 64 &&
         uint64_t{block.x} * block.y * block.z <= 1024 && shared_bytes <= 48 << 10;
}

cudaError_t LaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                         cudaStream_t stream) {
  ENTER("cudaLaunchKernel");
  const auto kernel = current->fake->kernels.find(function);
  if (kernel == current->fake->kernels.end()) return cudaErrorInvalidDeviceFunction;
  if (!IsLaunchable(grid, block, shared_bytes)) return cudaErrorInvalidConfiguration;
  if (StreamOf(stream).device != device_of_thread) return cudaErrorInvalidResourceHandle;
  const bool first = current->loaded.insert({device_of_thread, function}).second;
  if (first && current->fake->lazy && StreamOf(stream).graph != nullptr) return cudaErrorStreamCaptureUnsupported;
  const double lasts = function == DelayKernel() ? *static_cast<const int*>(arguments[0]) : 1;
  std::function<void()> run = kernel->second(grid, block, arguments);
  return run ? Enqueue(stream, std::move(run), lasts) : cudaErrorInvalidValue;
}

cudaError_t LaunchHostFunc(cudaStream_t stream, cudaHostFn_t run, void* argument) {
  ENTER("cudaLaunchHostFunc");
  return Enqueue(stream, [=] {
    inside_host_function = true;
    run(argument);
    inside_host_function = false;
  });
}

const char* GetErrorName(cudaError_t) { return "cudaErrorOfTheFake"; }
const char* GetErrorString(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "out of memory" : "fake"; }
cudaError_t GetLastError() { return std::exchange(last_error, cudaSuccess); }

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
  api.cudaDriverGetVersion = Call<DriverGetVersion>;
  api.cudaDeviceGetStreamPriorityRange = Call<GetStreamPriorityRange>;
  api.cudaFree = Call<Free>;
  api.cudaFreeHost = Call<FreeHost>;
  api.cudaFuncGetAttributes = Call<FuncGetAttributes>;
  api.cudaGetDeviceCount = Call<GetDeviceCount>;
  api.cudaGetDeviceProperties = Call<GetDeviceProperties>;
  api.cudaGetErrorName = GetErrorName;
  api.cudaGetErrorString = GetErrorString;
  api.cudaGetLastError = GetLastError;
  api.cudaHostAlloc = Call<HostAlloc>;
  api.cudaLaunchHostFunc = Call<LaunchHostFunc>;
  api.cudaLaunchKernel = Call<LaunchKernel>;
  api.cudaMalloc = Call<Malloc>;
  api.cudaMemcpyAsync = Call<MemcpyAsync>;
  api.cudaMemGetInfo = Call<MemGetInfo>;
  api.cudaMemsetAsync = Call<MemsetAsync>;
  api.cudaSetDevice = Call<SetDevice>;
}

}  // namespace
}  // namespace partita::fake_cuda

namespace partita {

FakeCuda::FakeCuda() : state_(std::make_unique<fake_cuda::State>()) {
  CHECK(fake_cuda::current == nullptr);
  state_->fake = this;
  fake_cuda::current = state_.get();
  fake_cuda::FillFunctions(api_);
  fake_cuda::FillStreamFunctions(api_);
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

FakeCuda::~FakeCuda() {
  if (state_->thread.joinable()) {
    {
      std::lock_guard lock(state_->mutex);
      state_->ending = true;
    }
    state_->changed.notify_all();
    state_->thread.join();
  }
  fake_cuda::current = nullptr;
}

void FakeCuda::StartThread() {
  at_once = false;
  state_->has_thread = true;
  state_->thread = std::thread(fake_cuda::DoWork);
}

void FakeCuda::Fault(cudaError_t error, const std::string& why) {
  fake_cuda::State& state = *fake_cuda::current;
  const fake_cuda::Turn turn;
  if (state.dead()) return;
  std::fprintf(stderr, "emulated GPU: %s\n", why.c_str());
  state.failed = true;
  state.error = error;
  state.changed.notify_all();
}

void FakeCuda::FailAt(int64_t call, cudaError_t error) {
  state_->countdown = call;
  state_->error = error;
  state_->failed = false;
}

void FakeCuda::Enqueue(cudaStream_t stream, std::function<void()> run, std::shared_ptr<void> held) {
  const fake_cuda::Turn turn;
  if (fake_cuda::current->dead()) return;
  CHECK(fake_cuda::Enqueue(stream, std::move(run)) == cudaSuccess);
  fake_cuda::Graph* const graph = fake_cuda::StreamOf(stream).graph;
  if (graph != nullptr) graph->held.push_back(std::move(held));
}

bool FakeCuda::IsCaptured(cudaStream_t stream) {
  const fake_cuda::Turn turn;
  return fake_cuda::StreamOf(stream).graph != nullptr;
}

bool FakeCuda::BreakCapture(cudaStream_t stream) {
  const fake_cuda::Turn turn;
  fake_cuda::Invalidate(stream);
  return fake_cuda::StreamOf(stream).graph != nullptr;
}

int FakeCuda::CurrentDevice() { return fake_cuda::device_of_thread; }

bool FakeCuda::on_device(const void* data) const { return OwnerOf(data, 1) >= 0; }
bool FakeCuda::pinned(const void* data) const { return OwnerOf(data, 1) == fake_cuda::kPinned; }

int FakeCuda::OwnerOf(const void* data, int64_t bytes) {
  const fake_cuda::Turn turn;
  return fake_cuda::OwnerOf(data, bytes);
}

bool FakeCuda::failed() const { return state_->failed; }
double FakeCuda::now() const { return state_->clock; }

int64_t FakeCuda::live() const {
  const fake_cuda::State& s = *state_;
  return static_cast<int64_t>(s.memory.size() + s.streams.size() + s.events.size() + s.graphs.size() +
                              s.executables.size());
}

}  // namespace partita
