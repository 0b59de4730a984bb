#include "tools/commands/calibrate/measure_collectives.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "partitioner/profile/quartiles.h"
#include "runtime/base/status.h"
#include "runtime/device/host/cores.h"
#include "tools/benchmarks/comm/comm_replay.h"

namespace partita {
namespace {

constexpr int64_t kSizes[] = {1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
constexpr int64_t kLeastBytes = kSizes[0], kMostBytes = 4 << 20;

constexpr int kRounds = 7;  // and one before them to warm up

// In a round: as many as move so many bytes, within bounds.
constexpr int64_t kBytesOfRound = 4 << 20, kMostCalls = 50;

constexpr int64_t kCopied = 64 << 20;

// In place what the planner does in place where it can.
bool IsMeasured(const CommCase& one) { return FindCollective(one.name) && one.in_place == (one.name == "all_reduce"); }

constexpr int64_t kElements = kMostBytes / static_cast<int64_t>(sizeof(float));

absl::StatusOr<double> MedianSeconds(CommRanks& ranks, const CommCase& what, int64_t bytes) {
  const int64_t calls = std::clamp<int64_t>(kBytesOfRound / bytes, 1, kMostCalls);
  ASSIGN_OR_RETURN(const std::shared_ptr<CommReplay> replay, CommReplay::Capture(ranks, what, bytes, calls));
  std::vector<double> seconds;
  for (int round = 0; round <= kRounds; ++round) {
    ASSIGN_OR_RETURN(const double one, replay->Run());
    if (round > 0) seconds.push_back(one);
  }
  return QuartilesOf(std::move(seconds)).median;
}

absl::StatusOr<AlphaBetaFit> FitOf(CommRanks& ranks, const CommCase& what) {
  std::vector<TimedBytes> samples;
  for (const int64_t bytes : kSizes) {
    ASSIGN_OR_RETURN(const double seconds, MedianSeconds(ranks, what, bytes));
    samples.push_back({static_cast<double>(bytes), seconds});
  }
  return FitAlphaBeta(samples);
}

double CopyBy(int threads, std::vector<char>& from, std::vector<char>& to) {
  const int64_t part = kCopied / threads;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::jthread> copying;  // joined also when one of them cannot be started
  for (int t = 0; t < threads; ++t) {
    copying.emplace_back([&, t] { std::memcpy(to.data() + t * part, from.data() + t * part, part); });
  }
  for (std::jthread& thread : copying) thread.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

absl::StatusOr<std::vector<CollectiveTime>> MeasureCollectives(int ranks, bool processes, int64_t threads) {
  ASSIGN_OR_RETURN(CommRanks made, processes ? MakeProcessRanks(ranks, kElements, ProcessWire::kSharedMemory)
                                             : MakeLocalRanks(ranks, kElements, threads));
  std::vector<CollectiveTime> times;
  for (const CommCase& what : Collectives(ranks)) {
    if (!IsMeasured(what)) continue;
    ASSIGN_OR_RETURN(const AlphaBetaFit fit, FitOf(made, what));
    times.push_back({*FindCollective(what.name), ranks, processes, fit, kLeastBytes, kMostBytes});
  }
  return times;
}

absl::StatusOr<AlphaBeta> MeasurePair(int64_t threads) {
  ASSIGN_OR_RETURN(CommRanks made, MakeLocalRanks(2, kElements, threads));
  for (const CommCase& what : Collectives(2)) {
    if (!IsMeasured(what) || FindCollective(what.name) != CollectiveKind::kAllReduce) continue;
    ASSIGN_OR_RETURN(const AlphaBetaFit fit, FitOf(made, what));
    return fit.cost;
  }
  return Internal("no all_reduce is measured");
}

double MeasureCopies() {
  const int threads = UsableCores();
  std::vector<char> from(kCopied, 1), to(kCopied);
  double best = CopyBy(threads, from, to);
  for (int round = 0; round < kRounds; ++round) best = std::min(best, CopyBy(threads, from, to));
  return 2.0 * kCopied / best;
}

}  // namespace partita
