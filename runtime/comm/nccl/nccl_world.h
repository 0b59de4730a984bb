// Communicators on NCCL: one rank for each process and GPU.
//
// The processes exchange once what all groups need: where each one's GPU is, and an id for each group, made by the
// group's first rank. Communicators are then created in the order of the program, each call waiting until the others
// have come, but not for longer than `join_within`. A watchdog thread asks NCCL for errors in the background; the first
// one, or a collective that does not move on for too long, aborts all groups, gives the GPU up and says which group,
// operation and sequence number it was.
//
// NCCL gives a communicator back only when no captured graph holds it any more. Therefore only the watchdog aborts, all
// groups in one NCCL group call. The owner of graphs never waits for that, and finds them ended before it destroys
// them. Graphs must be destroyed before the world.
#ifndef PARTITA_RUNTIME_COMM_NCCL_NCCL_WORLD_H_
#define PARTITA_RUNTIME_COMM_NCCL_NCCL_WORLD_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/nccl/nccl_api.h"
#include "runtime/comm/nccl/nccl_group.h"
#include "runtime/comm/shared/longest_wait.h"
#include "runtime/comm/world.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/flight_recorder/flight_recorder.h"

namespace partita {

struct NcclWorldOptions {
  const NcclApi* api = nullptr;
  CudaDevice* device = nullptr;  // outlives the world
  int rank = 0;
  int ranks = 1;
  std::vector<std::vector<int>> groups;  // the program's: the ranks of each, in group order
  // What each process says, in the order of their ranks; all processes call it.
  std::function<absl::StatusOr<std::vector<std::string>>(const std::string&)> exchange;
  std::string host;  // ranks of one host must have GPUs of their own; NCCL_HOSTID, or the machine's name
  std::chrono::milliseconds join_within = std::chrono::seconds(60);  // how long the others may take to come
  std::chrono::milliseconds poll_every{100};                         // of the watchdog; 0: Poll is called by hand
  std::chrono::milliseconds give_up_after = kLongestWait;            // a collective that has not ended then is stuck
  // Sums must be bitwise identical in every run. NCCL_ALGO decides that, and the world does not change the environment:
  // rank 0 reports its value through `tell`, or through `warn` if it allows NVLS.
  bool deterministic = false;
  std::function<void(const std::string&)> warn = nullptr, tell = nullptr;
};

// NCCL_HOSTID, or the machine's name.
std::string NcclHost();

// Thread-safe.
class NcclWorld : public World {
 public:
  // kUnavailable: two ranks of one host have the same GPU; what the exchange says. Of CreateCommunicator: the others do
  // not come; group and ranks are named.
  static absl::StatusOr<std::unique_ptr<NcclWorld>> Create(NcclWorldOptions options);
  ~NcclWorld() override;

  absl::StatusOr<std::unique_ptr<Communicator>> CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                   int rank) override;

  // What the GPU has come to by now or, after an abort, had come to then.
  const FlightRecorder* recorder() const override;

  // Returns at once; from then on no use of the GPU returns OK.
  void Abort(const absl::Status& status) override;

  // One look of the watchdog, which is also recorded.
  void Poll();

 private:
  struct Watched {
    NcclGroup* group = nullptr;
    int64_t ended = 0;
    std::chrono::steady_clock::time_point since;
  };

  explicit NcclWorld(NcclWorldOptions options);
  void ReportAlgorithms() const;
  absl::Status Exchange();
  std::string OwnWords(absl::Status& status) const;
  absl::Status Understand(const std::vector<std::string>& all);
  void Watch();
  void AbortGroups();
  absl::Status Look(Watched& watched) const;

  const NcclWorldOptions options_;
  FlightRecorder recorder_;
  std::vector<ncclUniqueId> ids_;  // by group

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // one of the next two
  bool stop_ = false;
  absl::Status aborted_;
  std::map<int, std::shared_ptr<NcclGroup>> groups_;
  std::map<int, Watched> watched_;
  std::thread watchdog_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_NCCL_NCCL_WORLD_H_
