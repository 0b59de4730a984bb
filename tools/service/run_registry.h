// The runs of the service: admitted, queued, trained by workers, and kept on the disk.
#ifndef PARTITA_TOOLS_SERVICE_RUN_REGISTRY_H_
#define PARTITA_TOOLS_SERVICE_RUN_REGISTRY_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/service/requests/asked_run.h"
#include "tools/service/requests/planned_run.h"
#include "tools/service/run_folder.h"
#include "tools/service/service_metrics.h"
#include "tools/service/training.h"

namespace partita::service {

inline bool HasEnded(v1::RunState state) { return state != v1::QUEUED && state != v1::RUNNING; }

struct RunLimits {
  int64_t bytes = 0;  // of all running ones
  int64_t running = 1, queued = 16, kept = 1000;
  std::string checkpoint_every;  // of runs that do not say
};

// Any thread may call it.
class RunRegistry {
 public:
  // Runs that a process before has not finished are INTERRUPTED. `folder` and `metrics` must outlive it.
  static absl::StatusOr<std::unique_ptr<RunRegistry>> Open(const RunFolder& folder, const RunLimits& limits,
                                                           ServiceMetrics& metrics);
  ~RunRegistry();

  // Queues the run of `model`, which is kept. kResourceExhausted: the queue is full, or no further run may be kept.
  absl::StatusOr<v1::RunStatus> Submit(const v1::RunRequest& request, GivenModel model, const PlannedRun& planned);
  // Queues a run again that has ended before its end.
  absl::StatusOr<v1::RunStatus> Resume(const std::string& id);
  absl::StatusOr<v1::RunStatus> Cancel(const std::string& id);
  // Waits until the model of a running run is written. kDeadlineExceeded: not by `until`.
  absl::StatusOr<v1::RunStatus> Save(const std::string& id, std::chrono::system_clock::time_point until);

  absl::StatusOr<v1::RunStatus> StatusOf(const std::string& id) const;
  absl::StatusOr<v1::RunRequest> RequestOf(const std::string& id) const;
  std::vector<v1::RunStatus> All() const;
  int64_t used_bytes() const;
  int64_t queued() const;

  struct Watched {
    v1::RunStatus status;
    int64_t version = 0;  // grows with each change
  };
  // The run as soon as its version is larger than `seen`, or as it is at `until`.
  absl::StatusOr<Watched> WaitForChange(const std::string& id, int64_t seen,
                                        std::chrono::system_clock::time_point until) const;

  // Runs end after their steps in flight, are saved, and become INTERRUPTED, queued ones as well. Returns when all
  // have.
  void Stop();

 private:
  struct Run {
    RunRecord record;
    int64_t version = 1;
    std::string model_file;  // that its settings name
    bool cancelled = false, resumed = false;
    std::shared_ptr<Training> training;  // while a worker has the run
  };

  RunRegistry(const RunFolder& folder, const RunLimits& limits, ServiceMetrics& metrics)
      : folder_(folder), limits_(limits), metrics_(metrics) {}
  absl::Status CheckKnown(const std::string& id) const;
  absl::Status CheckRoom() const;
  void MarkChanged(Run& run);
  void Enter(Run& run, v1::RunState state, const std::string& message = "");
  void Enqueue(Run& run);
  void FindModelFile(Run& run);
  Run* NextToRun();
  void Work();
  void Train(Run& run, std::unique_lock<std::mutex>& lock);
  absl::StatusOr<bool> TrainAsked(Run& run);
  void Keep(const Run& run) const;
  void CountStates() const;

  const RunFolder& folder_;
  const RunLimits limits_;
  ServiceMetrics& metrics_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::string, Run> runs_;  // nodes stay where they are
  std::deque<std::string> queue_;
  int64_t used_bytes_ = 0;
  int64_t last_number_ = 0;
  bool stops_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_RUN_REGISTRY_H_
