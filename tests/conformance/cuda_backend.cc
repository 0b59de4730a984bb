#include "tests/conformance/cuda_backend.h"

#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/comm/cuda_local/cuda_local_world.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/device/cuda/kernels/delay_kernel.h"
#include "tests/runtime/comm/cuda_local/fake_reduce.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {
namespace {

// What is the same on the real runtime and on the fake.
class AnyCudaBackend : public DeviceBackend {
 public:
  absl::Status Enqueue(Stream& stream, std::function<absl::Status()>& work) const override {
    const auto run = [](void* argument) { CHECK((*static_cast<std::function<absl::Status()>*>(argument))().ok()); };
    return dynamic_cast<CudaStream&>(stream).CallOnHost(run, &work);
  }
  absl::Status Delay(Stream& stream, std::chrono::microseconds time) const override {
    auto microseconds = static_cast<int>(time.count());
    void* arguments[] = {&microseconds};
    return dynamic_cast<CudaStream&>(stream).Launch(DelayKernel(), {1}, {1}, arguments);
  }
  bool reports_failed_work() const override { return false; }
};

class CudaBackend : public AnyCudaBackend {
 public:
  explicit CudaBackend(std::optional<uint64_t> delay_seed = std::nullopt) : delay_seed_(delay_seed) {}

  std::string name() const override { return delay_seed_ ? "cuda_delayed" : "cuda"; }
  std::unique_ptr<Device> CreateDevice() const override {
    CudaDeviceOptions options;
    options.timeline = true;
    options.delay.seed = delay_seed_;
    return *CudaDevice::Create(std::move(options));
  }

  void Upload(void* to, const void* from, int64_t bytes) const override { Copy(to, from, bytes); }
  void Download(void* to, const void* from, int64_t bytes) const override { Copy(to, from, bytes); }

 private:
  static void Copy(void* to, const void* from, int64_t bytes) {
    if (bytes == 0) return;
    cudaPointerAttributes attributes = {};
    CHECK(cudaPointerGetAttributes(&attributes, to) == cudaSuccess);
    const bool up = attributes.type == cudaMemoryTypeDevice;
    CHECK(cudaMemcpy(to, from, static_cast<size_t>(bytes), up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost) ==
          cudaSuccess);
  }

  const std::optional<uint64_t> delay_seed_;
};

// The fake runtime's memory is the host's; the work of its own device is done as late as a GPU does it.
class FakeCudaBackend : public AnyCudaBackend {
 public:
  std::string name() const override { return "fake_cuda"; }
  std::unique_ptr<Device> CreateDevice() const override {
    fake_ = nullptr;  // there is one at a time
    fake_ = std::make_unique<FakeCuda>();
    fake_->at_once = false;
    return *CudaDevice::Create({0, false, &fake_->api()});
  }
  void Upload(void* to, const void* from, int64_t bytes) const override {
    if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
  }
  void Download(void* to, const void* from, int64_t bytes) const override { Upload(to, from, bytes); }

 private:
  mutable std::unique_ptr<FakeCuda> fake_;  // of the latest device
};

class CudaLocalRanks : public CommRanks {
 public:
  CudaLocalRanks(std::unique_ptr<FakeCuda> fake, int ranks, int group_id) : fake_(std::move(fake)) {
    if (fake_ != nullptr) RegisterReduceKernels(*fake_);
    device_ = *CudaDevice::Create({0, false, fake_ == nullptr ? &RealCudaApi() : &fake_->api()});
    world_ = *CudaLocalWorld::Create(ranks, device_.get());
    std::vector<int> members(static_cast<size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    for (int rank = 0; rank < ranks; ++rank) {
      communicators_.push_back(*world_->CreateCommunicator(group_id, members, rank));
      streams_.push_back(*device_->CreateStream("comm", StreamPriority::kHigh));
    }
  }

  Device& device(int) override { return *device_; }
  Stream& stream(int rank) override { return *streams_[rank]; }
  Communicator& communicator(int rank) override { return *communicators_[rank]; }
  void Abort(const absl::Status& status) override { world_->Abort(status); }

 private:
  const std::unique_ptr<FakeCuda> fake_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<CudaLocalWorld> world_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

class CudaLocalBackend : public CommBackend {
 public:
  CudaLocalBackend(const DeviceBackend* device_backend, bool fake) : device_backend_(device_backend), fake_(fake) {}

  std::string name() const override { return fake_ ? "fake_cuda_local" : "cuda_local"; }
  const DeviceBackend& device_backend() const override { return *device_backend_; }
  bool counts_wire() const override { return true; }
  bool knows_who_waits() const override { return false; }
  bool moves_blocks() const override { return true; }
  bool walked_together() const override { return true; }
  std::unique_ptr<CommRanks> CreateRanks(int ranks, int group_id) const override {
    return std::make_unique<CudaLocalRanks>(fake_ ? std::make_unique<FakeCuda>() : nullptr, ranks, group_id);
  }

 private:
  const DeviceBackend* const device_backend_;
  const bool fake_;
};

}  // namespace

std::string WhyNoGpu() {
  const absl::StatusOr<std::unique_ptr<CudaDevice>> device = CudaDevice::Create({});
  return device.ok() ? "" : std::string(device.status().message());
}

const std::vector<const DeviceBackend*>& CudaDeviceBackends() {
  static const auto& backends = *new std::vector<const DeviceBackend*>(
      WhyNoGpu().empty() ? std::vector<const DeviceBackend*>{new CudaBackend(), new CudaBackend(1)}
                         : std::vector<const DeviceBackend*>{});
  return backends;
}

const std::vector<const DeviceBackend*>& FakeCudaDeviceBackends() {
  static const auto& backends = *new std::vector<const DeviceBackend*>{new FakeCudaBackend()};
  return backends;
}

const std::vector<const CommBackend*>& CudaLocalCommBackends() {
  static const auto& backends = *[] {
    auto* const all = new std::vector<const CommBackend*>{new CudaLocalBackend(new FakeCudaBackend(), true)};
    const auto& gpus = CudaDeviceBackends();
    if (!gpus.empty()) all->push_back(new CudaLocalBackend(gpus.front(), false));
    return all;
  }();
  return backends;
}

}  // namespace partita
