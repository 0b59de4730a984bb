#include "runtime/api/backend/gpu.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::Status NoGpu() {
  return Unavailable("this program was built without CUDA: there was no toolkit (tools/install --cuda brings one)");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenGpu(const SessionOptions&) { return NoGpu(); }
int VisibleGpus() { return 0; }
std::string GpuModel(const Device& gpu) { return gpu.name(); }
std::string ModelOfGpu(int) { return ""; }
absl::Status CheckRanksOfGpu(int, const std::string&) { return NoGpu(); }
absl::StatusOr<std::unique_ptr<KernelLibrary>> MakeGpuKernels(Device&, const SessionOptions&) { return NoGpu(); }
absl::StatusOr<DescribedGpu> DescribeGpu(const SessionOptions&) { return NoGpu(); }
absl::StatusOr<std::unique_ptr<World>> MakeGpuWorld(Device&, const Program&, const SessionOptions&) { return NoGpu(); }

}  // namespace partita
