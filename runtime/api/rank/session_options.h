// The options of a session.
#ifndef PARTITA_RUNTIME_API_RANK_SESSION_OPTIONS_H_
#define PARTITA_RUNTIME_API_RANK_SESSION_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/schedule/machine_speed.h"
#include "graph/schedule/overlap_halo.h"
#include "runtime/flight_recorder/flight_record.h"

namespace partita {

class Job;
struct KernelArguments;
struct LocalNode;

// The device that ranks run on, and its options.
struct DeviceOptions {
  // The GPU of all ranks of this process; unset: each rank is a device of the host. On a GPU nothing looks for the
  // first value that is not finite (Session::Diagnose), and a rank's memory is used as planned, without canaries.
  std::optional<int> gpu;
  // Of a GPU: f32 products may round their factors to 10 bits. Without `deterministic` the plans of libraries are timed
  // and the fastest is taken; what ranks must compute alike is deterministic all the same. On the host it is forms of
  // convolutions that are timed, if they can be kept. `plan_folder` keeps plans from run to run; empty: no.
  bool allow_tf32 = false;
  bool deterministic = true;
  std::string plan_folder = "";
  bool replay = true;                                      // ExecutorOptions
  std::function<void(const std::string&)> warn = nullptr;  // of what the run survives, a line each; any thread
  // On the host: that forms are timed, before the first one; and of each what was found.
  std::function<void(const std::string&)> tell = nullptr, detail = nullptr;
};

// Options for tests and for the comparison of two sessions. delay_seed: DelayOptions. poison, guard_bytes,
// reuse_memory: ExecutorOptions, ScheduleOptions; with guard bytes the canaries between tensors are checked after every
// step.
struct TestOptions {
  std::optional<uint64_t> delay_seed;
  bool reference_kernels = false;
  int64_t guard_bytes = 0;
  bool reuse_memory = true;
  bool poison = false;
  bool observe = false;  // every value of the training graph: Session::Observed
  // HostKernelOptions
  std::function<void(const LocalNode&, const KernelArguments&)> after_kernel = nullptr;
};

// Detection of a stalled step: a rank of this process neither computes nor waits for a peer for `timeout`. Its thread
// cannot be ended. The other ranks end as after Session::Abort, and a separate thread calls `on_stall` with the records
// of this process. The step's call returns when the stalled thread resumes, if ever. 0: no detection, as always on a
// GPU.
struct StallOptions {
  std::chrono::milliseconds timeout{0};
  std::function<void(const absl::Status&, const std::vector<FlightRecord>&)> on_stall = nullptr;
};

struct SessionOptions {
  std::shared_ptr<Job> job;    // null: all ranks live in this process
  uint64_t seed = 0;           // of initial values and dropout
  int threads_per_rank = 0;    // OpenMP threads of a stream; 0: the machine's, shared among the ranks, at least one
  int compute_streams = 0;     // at most, beside that of collectives; 0: 1 on the host, 4 on a GPU
  int64_t memory_limit = 0;    // bytes of a rank's arena; 0: none
  bool group_updates = false;  // the optimizer as one launch (graph/lower/group_updates.h); on a GPU it always is
  OverlapHalo overlap_halo = OverlapHalo::kAuto;  // convolutions in parts, so that some run while ghosts travel
  std::optional<MachineSpeed> speed = {};         // by which schedules are made (ScheduleOptions)
  bool record_timeline = false;
  DeviceOptions device;
  StallOptions stall;
  TestOptions tests;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_RANK_SESSION_OPTIONS_H_
