// The backend of a program's ranks: their device, its kernels, and the world in which they communicate. Sessions, plans
// and benchmarks all create it here: what is planned is what runs.
#ifndef PARTITA_RUNTIME_API_BACKEND_BACKEND_H_
#define PARTITA_RUNTIME_API_BACKEND_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "graph/make_schedule.h"
#include "ops/host/host_kernels.h"
#include "runtime/api/rank/session_options.h"
#include "runtime/comm/world.h"
#include "runtime/device/device.h"
#include "runtime/exec/kernel.h"

namespace partita {

// How the ranks of a program are spread: all in one process, or each in a process of its own.
enum class Spread : uint8_t { kThreads, kProcesses };

// Thread-compatible.
class Backend {
 public:
  // For the ranks that live in this process: those of the options' job, or all. A job outlives it. kInvalidArgument:
  // the job has other ranks than the program. With a GPU see also gpu.h.
  static absl::StatusOr<std::unique_ptr<Backend>> Open(const Program& program, const SessionOptions& options);

  // For planning with this number of ranks, none of which will run: there are no local ranks and no world. The options'
  // job is ignored. Without a GPU, a description replaces it (gpu.h); a build without CUDA returns kUnavailable. On the
  // host nothing is timed: kernels are those of earlier runs, or the rule's.
  static absl::StatusOr<std::unique_ptr<Backend>> OpenToPlan(int ranks, Spread spread, const SessionOptions& options);
  ~Backend();

  // That all ranks of this process share; null: each has a device of the host, or the GPU is described.
  Device* gpu() const { return gpu_.get(); }
  // "host", or the GPU's.
  const std::string& device_name() const { return device_name_; }
  // Of a GPU that is described: why there is none.
  const absl::Status& gpu_missing() const { return gpu_missing_; }
  KernelLibrary& kernels() const { return *kernels_; }
  // CHECKed: it was not opened to plan.
  World& world() const;
  const std::vector<int>& local_ranks() const { return local_ranks_; }
  Spread spread() const { return spread_; }
  int threads_per_rank() const { return options_.threads_per_rank; }

  // Everything by which a schedule is made, but for the program.
  ScheduleOptions schedule_options() const;
  // The schedules of all ranks for an entry point: see graph/make_schedule.h.
  absl::StatusOr<std::vector<Schedule>> MakeSchedules(const Program& program, const Graph& entry) const;
  absl::StatusOr<FoldedSchedules> MakeFoldedSchedules(const Program& program, const Graph& entry) const;

 private:
  Backend(int ranks, Spread spread, bool runs, const SessionOptions& options);
  int compute_streams() const;
  absl::Status FindKernels();
  HostKernelOptions HostOptions() const;
  absl::Status DescribeKernels(const absl::Status& missing);
  absl::Status FindWorld(const Program& program);
  absl::Status JoinWorldOfJob(const Program& program);

  const Spread spread_;
  const bool runs_;         // else it is to plan only
  const int ranks_of_gpu_;  // that share one
  SessionOptions options_;
  std::unique_ptr<Device> gpu_;
  std::string device_name_ = "host";
  int64_t gpu_bytes_ = 0;  // all of its memory
  absl::Status gpu_missing_;
  std::unique_ptr<KernelLibrary> kernels_;
  std::vector<int> local_ranks_;
  std::unique_ptr<World> own_world_;  // unless it is the job's
  World* world_ = nullptr;
  bool moves_blocks_ = false;  // World::moves_blocks
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_BACKEND_BACKEND_H_
