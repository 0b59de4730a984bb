// The GPUs of the communication benchmark, in builds with CUDA.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/comm/cuda_local/cuda_local_world.h"
#include "runtime/comm/nccl/nccl_world.h"
#include "runtime/device/cuda/cuda_device.h"
#include "tools/benchmarks/comm/comm_ranks.h"

namespace partita {
namespace {

// Where the ranks, which are threads, tell each other what NCCL cannot: each waits for the words of all. May be used
// again and again.
class Meeting {
 public:
  explicit Meeting(int ranks) : words_(static_cast<size_t>(ranks)) {}

  std::vector<std::string> AllGather(int rank, const std::string& words) {
    std::unique_lock lock(mutex_);
    words_[rank] = words;
    const int64_t round = round_;
    if (++come_ == static_cast<int>(words_.size())) {
      come_ = 0;
      ++round_;
      told_ = words_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round; });
    return told_;  // of this round: the next one needs this rank
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> words_, told_;
  int come_ = 0;
  int64_t round_ = 0;
};

absl::StatusOr<CommRanks> MakeCudaLocalRanks(int ranks, int64_t elements) {
  ASSIGN_OR_RETURN(const std::shared_ptr<CudaDevice> device, CudaDevice::Create({}));
  ASSIGN_OR_RETURN(const std::shared_ptr<World> world, CudaLocalWorld::Create(ranks, device.get()));
  CommRanks made{"cuda_local", {}};
  for (int r = 0; r < ranks; ++r) {
    ASSIGN_OR_RETURN(made.ranks.emplace_back(), MakeCommRank(device, world, ranks, r, elements));
  }
  return made;
}

absl::StatusOr<CommRank> MakeNcclRank(const NcclApi* api, Meeting& meeting, int ranks, int rank, int64_t elements) {
  CudaDeviceOptions on;
  on.index = rank;
  // All meet, also those without a GPU.
  absl::StatusOr<std::unique_ptr<CudaDevice>> device = CudaDevice::Create(std::move(on));
  const std::vector<std::string> errors = meeting.AllGather(rank, device.ok() ? "" : device.status().ToString());
  for (const std::string& error : errors) {
    if (!error.empty()) return absl::UnavailableError(error);
  }
  const std::shared_ptr<CudaDevice> gpu = *std::move(device);
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  NcclWorldOptions options;
  options.api = api;
  options.device = gpu.get();
  options.rank = rank;
  options.ranks = ranks;
  options.groups = {all};
  options.exchange = [&meeting, rank](const std::string& words) -> absl::StatusOr<std::vector<std::string>> {
    return meeting.AllGather(rank, words);
  };
  options.host = NcclHost();
  ASSIGN_OR_RETURN(std::shared_ptr<World> world, NcclWorld::Create(std::move(options)));
  return MakeCommRank(gpu, std::move(world), ranks, rank, elements);
}

absl::StatusOr<CommRanks> MakeNcclRanks(int ranks, int64_t elements) {
  ASSIGN_OR_RETURN(const NcclApi* const api, LoadNccl());
  std::vector<absl::StatusOr<CommRank>> found(static_cast<size_t>(ranks));
  Meeting meeting(ranks);
  std::vector<std::jthread> threads;  // joined also when one of them cannot be started
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] { found[r] = MakeNcclRank(api, meeting, ranks, r, elements); });
  }
  for (std::jthread& thread : threads) thread.join();
  CommRanks made{"nccl", {}};
  for (absl::StatusOr<CommRank>& rank : found) {
    ASSIGN_OR_RETURN(made.ranks.emplace_back(), std::move(rank));
  }
  return made;
}

}  // namespace

absl::StatusOr<std::vector<CommRanks>> MakeCudaRanks(int ranks, int64_t elements) {
  ASSIGN_OR_RETURN(const int gpus, CountCudaDevices());
  std::vector<CommRanks> made;
  ASSIGN_OR_RETURN(made.emplace_back(), MakeCudaLocalRanks(ranks, elements));
  if (gpus < 2) return made;
  ASSIGN_OR_RETURN(made.emplace_back(), MakeNcclRanks(std::min(gpus, ranks), elements));
  return made;
}

}  // namespace partita
