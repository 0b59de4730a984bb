// One GPU. All ranks that share it share this object; each has its own arena and streams.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/cuda/cuda_captured_step.h"
#include "runtime/device/cuda/cuda_context.h"
#include "runtime/device/device.h"
#include "runtime/device/seeded_delay.h"

namespace partita {

struct CudaDeviceOptions {
  int index = 0;
  // Captured steps keep the times of their launches; CapturedStep::SetRecording does nothing without.
  bool timeline = false;
  const CudaApi* api = &RealCudaApi();
  DelayOptions delay = {};  // of each piece of work, by a kernel before it; in captured steps alike at every replay
  // With a timeline: takes the times, and was started before CUDA; null: events do, which cost every launch two nodes
  // of the graph.
  std::unique_ptr<CudaNodeTimes> node_times = nullptr;
};

class CudaDevice : public Device {
 public:
  // kUnavailable: no driver or one that is too old, no GPU, or this program has no code for it.
  // kInvalidArgument: fewer GPUs than `index` says.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Create(CudaDeviceOptions options);

  const std::string& name() const override { return context_.name(); }
  bool host_addressable() const override { return false; }
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream(std::string name, StreamPriority priority) override;
  using Device::CreateStream;
  absl::StatusOr<std::unique_ptr<Event>> CreateEvent() override;
  absl::StatusOr<std::unique_ptr<Arena>> Allocate(int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<Arena>> AllocateHost(int64_t bytes) override;
  absl::StatusOr<DeviceMemory> Memory() override;
  absl::Status BeginCapture(std::span<Stream* const> streams) override;
  absl::StatusOr<std::unique_ptr<CapturedStep>> EndCapture() override;

  CudaContext& context() { return context_; }
  // Major * 10 + minor: 90 of an H200.
  int compute_capability() const { return capability_; }
  int multiprocessors() const { return multiprocessors_; }
  // Where it is in the machine: "0000:1b:00".
  const std::string& bus_id() const { return bus_id_; }
  // cudaDeviceProp::name: "NVIDIA H200".
  const std::string& model() const { return model_; }

 private:
  CudaDevice(CudaDeviceOptions options, const cudaDeviceProp& properties);
  absl::Status CheckCode();
  absl::Status LoadKernels();

  CudaContext context_;
  const std::unique_ptr<CudaNodeTimes> node_times_;
  const CudaTimeline timeline_;
  const DelayOptions delay_;
  int streams_ = 0;  // created so far
  const std::string model_;
  const std::string bus_id_;
  const int capability_;
  const int multiprocessors_;
  std::unique_ptr<CudaCapturedStep> capture_;  // not null between BeginCapture and EndCapture
};

// GPUs of this machine. kUnavailable: no driver, or one that is too old.
absl::StatusOr<int> CountCudaDevices(const CudaApi& api = RealCudaApi());

// CudaDevice::model of the GPU that has this index, which need not be one that this program can use. Errors are those
// of Create.
absl::StatusOr<std::string> CudaDeviceModel(int index, const CudaApi& api = RealCudaApi());

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H_
