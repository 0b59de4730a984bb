// A GPU made of the host: its streams, kernels and communicators, with arenas that the host is told it does not reach.
// A test that is linked with this file, in place of runtime/api/backend:gpu, has sessions that run as on a GPU.
#include "ops/host/host_kernels.h"
#include "runtime/api/backend/gpu.h"
#include "runtime/base/status.h"
#include "runtime/comm/local/local_communicator.h"
#include "runtime/device/host/host_device.h"

namespace partita {
namespace {

class FarDevice : public HostDevice {
 public:
  using HostDevice::HostDevice;
  bool host_addressable() const override { return false; }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenGpu(const SessionOptions& options) {
  HostDeviceOptions device;
  device.delay.seed = options.tests.delay_seed;
  return std::make_unique<FarDevice>(std::move(device), "far");
}

std::string GpuModel(const Device& gpu) { return gpu.name(); }

int VisibleGpus() { return 1; }
std::string ModelOfGpu(int) { return "far"; }
absl::Status CheckRanksOfGpu(int, const std::string&) { return absl::OkStatus(); }

absl::StatusOr<std::unique_ptr<KernelLibrary>> MakeGpuKernels(Device&, const SessionOptions&) {
  return MakeHostKernels({.threads = 1});
}

absl::StatusOr<DescribedGpu> DescribeGpu(const SessionOptions&) {
  return absl::UnavailableError("the far GPU is always there");
}

absl::StatusOr<std::unique_ptr<World>> MakeGpuWorld(Device&, const Program& program, const SessionOptions&) {
  ASSIGN_OR_RETURN(std::unique_ptr<LocalWorld> world, LocalWorld::Create(program.ranks()));
  return world;
}

}  // namespace partita
