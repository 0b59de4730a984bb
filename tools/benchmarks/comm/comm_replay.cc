#include "tools/benchmarks/comm/comm_replay.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

// Runs a function for each device and waits for all: what meets peers may wait for them.
absl::Status OnDevices(CommRanks& ranks, const std::function<absl::Status(std::vector<CommRank*>)>& run) {
  std::vector<std::vector<CommRank*>> devices;
  for (CommRank& rank : ranks.ranks) {
    const bool shared = !devices.empty() && devices.back().front()->device == rank.device;
    if (!shared) devices.emplace_back();
    devices.back().push_back(&rank);
  }
  std::vector<absl::Status> status(devices.size());
  std::vector<std::jthread> threads;  // joined also when one of them cannot be started
  for (size_t d = 0; d < devices.size(); ++d) threads.emplace_back([&, d] { status[d] = run(devices[d]); });
  for (std::jthread& thread : threads) thread.join();
  for (const absl::Status& one : status) RETURN_IF_ERROR(one);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<CommReplay>> CommReplay::Capture(CommRanks& ranks, const CommCase& what, int64_t bytes,
                                                                int64_t calls) {
  auto replay = std::make_shared<CommReplay>();
  replay->calls_ = calls;
  const auto members = static_cast<int64_t>(ranks.ranks.size());
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float)) / members * members;
  std::mutex mutex;
  RETURN_IF_ERROR(OnDevices(ranks, [&](const std::vector<CommRank*>& on) -> absl::Status {
    std::vector<Stream*> streams;
    for (CommRank* rank : on) streams.push_back(rank->stream.get());
    RETURN_IF_ERROR(on.front()->device->BeginCapture(streams));
    for (int64_t call = 0; call < calls; ++call) {
      for (CommRank* rank : on) RETURN_IF_ERROR(what.enqueue(*rank, count));
    }
    ASSIGN_OR_RETURN(std::unique_ptr<CapturedStep> step, on.front()->device->EndCapture());
    std::lock_guard lock(mutex);
    replay->steps_.push_back(std::move(step));
    return absl::OkStatus();
  }));
  return replay;
}

absl::StatusOr<double> CommReplay::Run() {
  const Clock::time_point begin = Clock::now();
  for (const auto& step : steps_) RETURN_IF_ERROR(step->Launch());
  for (const auto& step : steps_) RETURN_IF_ERROR(step->Wait());
  return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(calls_);
}

}  // namespace partita
