// How a session runs a program.
#ifndef PARTITA_RUNTIME_API_SESSION_OPTIONS_H_
#define PARTITA_RUNTIME_API_SESSION_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace partita {

class Job;

struct SessionOptions {
  std::shared_ptr<Job> job;  // null: all ranks live in this process
  // The GPU of all ranks of this process; unset: each rank is a device of the host. On a GPU nothing looks for the
  // first value that is not finite, and a rank's memory is used as planned, without canaries.
  std::optional<int> gpu;
  uint64_t seed = 0;         // of initial values and dropout
  int threads_per_rank = 0;  // OpenMP threads of a stream; 0: the machine's, shared among the ranks, at least one
  int compute_streams = 1;   // besides the one for communication
  int64_t memory_limit = 0;  // bytes of a rank's arena; 0: none
  bool reference_kernels = false;
  // A copy of states and inputs before each training step, so that a loss that is not finite can be traced to the
  // first value that is not. Costs one copy of the states.
  bool find_non_finite = true;
  bool record_timeline = false;
  bool replay = true;  // ExecutorOptions

  // For tests. delay_seed: HostDeviceOptions. poison, guard_bytes, reuse_memory: ExecutorOptions, ScheduleOptions;
  // with guard bytes the canaries between tensors are looked at after every step.
  std::optional<uint64_t> delay_seed;
  int64_t guard_bytes = 0;
  bool reuse_memory = true;
  bool poison = false;
  bool observe = false;  // every value of the training graph: Session::Observed
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_SESSION_OPTIONS_H_
