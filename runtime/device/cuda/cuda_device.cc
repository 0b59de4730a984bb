#include "runtime/device/cuda/cuda_device.h"

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_error.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/device/cuda/kernels/delay_kernel.h"
#include "runtime/device/cuda/kernels/strided_copy_kernel.h"

namespace partita {
namespace {

// "13.0" of 13000.
std::string VersionText(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// A driver serves every runtime of its own major version and of older ones.
absl::Status CheckDriver(const CudaApi& api) {
  int driver = 0;
  const cudaError_t error = api.cudaDriverGetVersion(&driver);
  if (error != cudaSuccess) {
    api.cudaGetLastError();
    return CudaStatus(api, error, "cudaDriverGetVersion", "CUDA");
  }
  if (driver == 0) {
    return Unavailable("there is no NVIDIA driver on this machine; this program needs one for CUDA {} or newer",
                       VersionText(CUDART_VERSION / 1000 * 1000));
  }
  if (driver / 1000 < CUDART_VERSION / 1000) {
    return Unavailable("the NVIDIA driver is for CUDA {}; this program needs one for CUDA {} or newer",
                       VersionText(driver), VersionText(CUDART_VERSION / 1000 * 1000));
  }
  return absl::OkStatus();
}

// A device with fewer than three has the raised one among the others.
int PriorityBetween(int least, int greatest, StreamPriority priority) {
  switch (priority) {
    case StreamPriority::kNormal:
      return least;
    case StreamPriority::kRaised:
      return (least + greatest) / 2;
    case StreamPriority::kHigh:
      return greatest;
  }
  return least;
}

enum class MemoryOf { kDevice, kHost };

class CudaArena : public Arena {
 public:
  CudaArena(CudaContext* context, MemoryOf owner, void* data, int64_t bytes)
      : context_(context), owner_(owner), data_(data), bytes_(bytes) {}
  ~CudaArena() override {
    context_->ActivateToFree();
    owner_ == MemoryOf::kDevice ? context_->api().cudaFree(data_) : context_->api().cudaFreeHost(data_);
  }
  void* data() const override { return data_; }
  int64_t bytes() const override { return bytes_; }

 private:
  CudaContext* const context_;
  const MemoryOf owner_;
  void* const data_;
  const int64_t bytes_;
};

absl::StatusOr<cudaDeviceProp> PropertiesOf(int index, const CudaApi& api) {
  ASSIGN_OR_RETURN(const int devices, CountCudaDevices(api));
  if (devices == 0) return Unavailable("there is no GPU on this machine that CUDA sees");
  if (index < 0 || index >= devices) {
    return InvalidArgument("there is no device cuda:{}; this machine has {}", index,
                           devices == 1 ? "cuda:0 only" : fmt::format("cuda:0 to cuda:{}", devices - 1));
  }
  cudaDeviceProp properties = {};
  if (const cudaError_t error = api.cudaGetDeviceProperties(&properties, index); error != cudaSuccess) {
    api.cudaGetLastError();
    return CudaStatus(api, error, "cudaGetDeviceProperties", fmt::format("device 'cuda:{}'", index));
  }
  return properties;
}

}  // namespace

absl::StatusOr<int> CountCudaDevices(const CudaApi& api) {
  RETURN_IF_ERROR(CheckDriver(api));
  int devices = 0;
  const cudaError_t error = api.cudaGetDeviceCount(&devices);
  if (error == cudaSuccess) return devices;
  api.cudaGetLastError();
  if (error == cudaErrorNoDevice) return 0;
  return CudaStatus(api, error, "cudaGetDeviceCount", "CUDA");
}

absl::StatusOr<std::string> CudaDeviceModel(int index, const CudaApi& api) {
  ASSIGN_OR_RETURN(const cudaDeviceProp properties, PropertiesOf(index, api));
  return std::string(properties.name);
}

CudaDevice::CudaDevice(CudaDeviceOptions options, const cudaDeviceProp& properties)
    : context_(*options.api, options.index, fmt::format("cuda:{}", options.index)),
      node_times_(std::move(options.node_times)),
      timeline_{options.timeline, node_times_.get()},
      delay_(options.delay),
      model_(properties.name),
      bus_id_(fmt::format("{:04x}:{:02x}:{:02x}", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID)),
      capability_(properties.major * 10 + properties.minor),
      multiprocessors_(properties.multiProcessorCount) {}

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Create(CudaDeviceOptions options) {
  ASSIGN_OR_RETURN(const cudaDeviceProp properties, PropertiesOf(options.index, *options.api));
  std::unique_ptr<CudaDevice> device(new CudaDevice(std::move(options), properties));
  RETURN_IF_ERROR(device->context_.Activate());
  RETURN_IF_ERROR(device->CheckCode());
  RETURN_IF_ERROR(device->LoadKernels());
  return device;
}

// Any kernel of ours tells whether the binary holds machine code, or PTX that the driver can compile, for this GPU.
absl::Status CudaDevice::CheckCode() {
  StridedCopyArguments arguments = {};
  arguments.width = 16;
  cudaFuncAttributes attributes = {};
  const cudaError_t error = context_.api().cudaFuncGetAttributes(&attributes, StridedCopyKernel(arguments));
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
    context_.api().cudaGetLastError();
    return Unavailable(
        "device '{}' is a {} of compute capability {}.{}, for which this program has no code; it was "
        "built without PARTITA_CUDA_ARCHITECTURES={}",
        name(), model_, capability_ / 10, capability_ % 10, capability_);
  }
  return context_.Check(error, "cudaFuncGetAttributes");
}

// Those that its streams launch by themselves.
absl::Status CudaDevice::LoadKernels() {
  if (delay_.seed) RETURN_IF_ERROR(context_.Load(DelayKernel()));
  StridedCopyArguments arguments = {};
  for (const int64_t accesses : {int64_t{1}, int64_t{1} << 40}) {
    arguments.accesses = accesses;
    for (const int width : {1, 2, 4, 8, 16}) {
      arguments.width = width;
      RETURN_IF_ERROR(context_.Load(StridedCopyKernel(arguments)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Stream>> CudaDevice::CreateStream(std::string name, StreamPriority priority) {
  RETURN_IF_ERROR(context_.Activate());
  int least = 0, greatest = 0;
  RETURN_IF_CUDA_ERROR(context_, cudaDeviceGetStreamPriorityRange, &least, &greatest);
  return CudaStream::Create(&context_, std::move(name), PriorityBetween(least, greatest, priority),
                            SeededDelay(delay_, streams_++));
}

absl::StatusOr<std::unique_ptr<Event>> CudaDevice::CreateEvent() { return CudaEvent::Create(&context_); }

absl::StatusOr<DeviceMemory> CudaDevice::Memory() {
  RETURN_IF_ERROR(context_.Activate());
  size_t free = 0, total = 0;
  RETURN_IF_CUDA_ERROR(context_, cudaMemGetInfo, &free, &total);
  return DeviceMemory{static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

absl::StatusOr<std::unique_ptr<Arena>> CudaDevice::Allocate(int64_t bytes) {
  if (bytes < 0) return InvalidArgument("device '{}': cannot allocate {} bytes", name(), bytes);
  ASSIGN_OR_RETURN(const DeviceMemory memory, Memory());
  if (bytes > memory.free) {
    return ResourceExhausted("device '{}': no memory for {} bytes; of its {} bytes {} are free", name(), bytes,
                             memory.total, memory.free);
  }
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 64));
  void* data = nullptr;
  RETURN_IF_CUDA_ERROR(context_, cudaMalloc, &data, size);
  auto arena = std::make_unique<CudaArena>(&context_, MemoryOf::kDevice, data, bytes);
  // The default stream orders it before nothing of ours: wait for it.
  RETURN_IF_CUDA_ERROR(context_, cudaMemsetAsync, data, 0, size, nullptr);
  RETURN_IF_CUDA_ERROR(context_, cudaStreamSynchronize, nullptr);
  return arena;
}

absl::StatusOr<std::unique_ptr<Arena>> CudaDevice::AllocateHost(int64_t bytes) {
  if (bytes < 0) return InvalidArgument("device '{}': cannot allocate {} bytes of the host", name(), bytes);
  RETURN_IF_ERROR(context_.Activate());
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 64));
  void* data = nullptr;
  RETURN_IF_CUDA_ERROR(context_, cudaHostAlloc, &data, size, unsigned{cudaHostAllocPortable});
  std::fill_n(static_cast<char*>(data), size, char{0});
  return std::make_unique<CudaArena>(&context_, MemoryOf::kHost, data, bytes);
}

absl::Status CudaDevice::BeginCapture(std::span<Stream* const> streams) {
  if (capture_ != nullptr) {
    return absl::FailedPreconditionError(fmt::format("device '{}': a capture is under way", name()));
  }
  std::vector<CudaStream*> captured;
  for (Stream* stream : streams) {
    auto* const cuda_stream = dynamic_cast<CudaStream*>(stream);
    if (cuda_stream == nullptr || cuda_stream->context_ != &context_) {
      return InvalidArgument("device '{}': cannot capture stream '{}' of another device", name(),
                             stream == nullptr ? "" : stream->name());
    }
    if (std::ranges::count(captured, cuda_stream) != 0) {
      return InvalidArgument("device '{}': stream '{}' is named twice in a capture", name(), stream->name());
    }
    captured.push_back(cuda_stream);
  }
  if (captured.empty()) return InvalidArgument("device '{}': a capture of no stream", name());
  ASSIGN_OR_RETURN(capture_, CudaCapturedStep::Begin(&context_, std::move(captured), timeline_));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CapturedStep>> CudaDevice::EndCapture() {
  if (capture_ == nullptr) {
    return absl::FailedPreconditionError(fmt::format("device '{}': no capture is under way", name()));
  }
  std::unique_ptr<CudaCapturedStep> step = std::move(capture_);
  RETURN_IF_ERROR(step->Finish());
  return step;
}

}  // namespace partita
