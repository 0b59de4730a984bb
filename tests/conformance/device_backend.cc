#include "tests/conformance/device_backend.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>

#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_stream.h"
#include "tests/conformance/cuda_backend.h"

namespace partita {
namespace {

class HostBackend : public DeviceBackend {
 public:
  HostBackend(std::string name, std::optional<uint64_t> delay_seed) : name_(std::move(name)) {
    options_.delay.seed = delay_seed;
    options_.shares_arenas = true;
  }

  std::string name() const override { return name_; }
  std::unique_ptr<Device> CreateDevice() const override { return std::make_unique<HostDevice>(options_); }

  absl::Status Enqueue(Stream& stream, std::function<absl::Status()>& work) const override {
    const auto run = [](void* argument) { return (*static_cast<std::function<absl::Status()>*>(argument))(); };
    return dynamic_cast<HostStream&>(stream).Enqueue({run, &work});
  }

  absl::Status Delay(Stream& stream, std::chrono::microseconds time) const override {
    const auto sleep = [](void* microseconds) {
      std::this_thread::sleep_for(std::chrono::microseconds(reinterpret_cast<intptr_t>(microseconds)));
      return absl::OkStatus();
    };
    return dynamic_cast<HostStream&>(stream).Enqueue({sleep, reinterpret_cast<void*>(intptr_t{time.count()})});
  }

  void Upload(void* to, const void* from, int64_t bytes) const override { Copy(to, from, bytes); }
  void Download(void* to, const void* from, int64_t bytes) const override { Copy(to, from, bytes); }

 private:
  static void Copy(void* to, const void* from, int64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  const std::string name_;
  HostDeviceOptions options_;
};

}  // namespace

const std::vector<const DeviceBackend*>& DeviceBackends() {
  static const auto& backends = *[] {
    auto* const all = new std::vector<const DeviceBackend*>{
        new HostBackend("host", std::nullopt),
        new HostBackend("host_delayed", 7),
    };
    all->insert(all->end(), CudaDeviceBackends().begin(), CudaDeviceBackends().end());
    return all;
  }();
  return backends;
}

}  // namespace partita
