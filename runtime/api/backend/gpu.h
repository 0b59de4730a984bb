// The GPU on which ranks of this process live. In a build without CUDA there is none (no_gpu.cc).
#ifndef PARTITA_RUNTIME_API_BACKEND_GPU_H_
#define PARTITA_RUNTIME_API_BACKEND_GPU_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "runtime/api/rank/session_options.h"
#include "runtime/comm/world.h"
#include "runtime/device/device.h"
#include "runtime/exec/kernel.h"

namespace partita {

class Job;

// Opens the GPU of the options. A recorded timeline comes from CUPTI or, if that is not available (reported to `warn`),
// from events, which slow down steps. kUnavailable: there is no GPU, or this program cannot use it. kInvalidArgument:
// the index is out of range.
absl::StatusOr<std::unique_ptr<Device>> OpenGpu(const SessionOptions& options);

// The number of GPUs that this process may use; 0: none, or CUDA cannot count them.
int VisibleGpus();

// As its maker calls it: "NVIDIA H200".
std::string GpuModel(const Device& gpu);

// The default number of streams for launches: an inception block has four branches.
inline constexpr int kComputeStreamsOfGpu = 4;

// The same of the GPU that has this index, which is not opened; of the one that is described (DescribeGpu) if there is
// none. Empty: this program was built without CUDA.
std::string ModelOfGpu(int index);

// kInvalidArgument: more ranks than can share a GPU in one process.
absl::Status CheckRanksOfGpu(int ranks, const std::string& gpu);

// The kernels for ranks on `gpu`, as the options of its kind say.
absl::StatusOr<std::unique_ptr<KernelLibrary>> MakeGpuKernels(Device& gpu, const SessionOptions& options);

// An absent GPU for planning: an H200, with the kernels that its libraries list for its description, none of which can
// be created. Nothing is timed, and no plans are stored.
struct DescribedGpu {
  std::string name;
  int64_t memory_bytes = 0;
  std::unique_ptr<KernelLibrary> kernels;
};

// kUnavailable: this program was built without CUDA.
absl::StatusOr<DescribedGpu> DescribeGpu(const SessionOptions& options);

// How the ranks talk: all in this process and sharing the GPU, or one in each process of a job, by NCCL.
// `gpu` outlives the world. kInvalidArgument: more ranks than can share a GPU, several ranks in one process of a job.
absl::StatusOr<std::unique_ptr<World>> MakeGpuWorld(Device& gpu, const Program& program, const SessionOptions& options);

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_BACKEND_GPU_H_
