#include "tools/benchmarks/comm/comm_benchmark.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/base/status.h"
#include "tools/benchmarks/comm/comm_cases.h"
#include "tools/benchmarks/comm/comm_ranks.h"
#include "tools/benchmarks/comm/comm_replay.h"
#include "tools/benchmarks/comm/gloo_ring.h"
#include "tools/benchmarks/median.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;
using Rings = std::vector<std::unique_ptr<GlooRing>>;
using Measurement = std::function<absl::StatusOr<double>()>;  // seconds of a call

// Calls of a round: as many as move so many bytes, within bounds.
constexpr int64_t kBytesOfRound = 32 << 20;
constexpr int64_t kMostCalls = 200;

constexpr int64_t kFloat = sizeof(float);

int64_t CallsOf(int64_t bytes) { return std::clamp<int64_t>(kBytesOfRound / bytes, 1, kMostCalls); }

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

absl::StatusOr<double> MeasureRing(Rings& rings, CommRanks& buffers, bool in_place, int64_t bytes) {
  const int64_t calls = CallsOf(bytes), count = bytes / kFloat;
  std::vector<absl::Status> status(rings.size());
  std::vector<std::jthread> threads;  // joined also when one of them cannot be started
  const Clock::time_point begin = Clock::now();
  for (size_t r = 0; r < rings.size(); ++r) {
    threads.emplace_back([&, r] {
      auto* const out = static_cast<float*>(buffers.ranks[r].out->data());
      const auto* const in = in_place ? out : static_cast<float*>(buffers.ranks[r].in->data());
      for (int64_t call = 0; call < calls && status[r].ok(); ++call) status[r] = rings[r]->AllReduce(in, out, count);
    });
  }
  for (std::jthread& thread : threads) thread.join();
  for (const absl::Status& one : status) RETURN_IF_ERROR(one);
  return SecondsSince(begin) / static_cast<double>(calls);
}

// Measured in turns with others.
struct Entry {
  CommRow row;
  double bus_factor = 1;
  Measurement measure;
  std::string peer;  // the backend that it is held against, of the same entries; empty: none
  std::vector<double> seconds;
};

CommRow Finish(const Entry& entry, const std::vector<Entry>& all) {
  CommRow row = entry.row;
  const double seconds = Median(entry.seconds);
  row.microseconds = 1e6 * seconds;
  row.algorithm_bandwidth = 1e-9 * static_cast<double>(row.bytes) / seconds;
  row.bus_bandwidth = row.algorithm_bandwidth * entry.bus_factor;
  const auto peer = std::ranges::find_if(all, [&](const Entry& other) { return other.row.backend == entry.peer; });
  if (peer == all.end()) return row;
  row.ratio = MedianRatio(peer->seconds, entry.seconds);
  return row;
}

class CommBenchmark {
 public:
  absl::Status Open(const CommBenchmarkOptions& options) {
    options_ = options;
    const int64_t most = std::max<int64_t>(*std::ranges::max_element(options.bytes), 5 * MostExchanged()) / kFloat;
    if (options.cuda) {
      ASSIGN_OR_RETURN(cuda_, MakeCudaRanks(options.ranks, most));
    }
    ASSIGN_OR_RETURN(local_, MakeLocalRanks(options.ranks, most, options.ranks));
    ASSIGN_OR_RETURN(tcp_, MakeProcessRanks(options.ranks, most, ProcessWire::kTcp));
    ASSIGN_OR_RETURN(tls_, MakeProcessRanks(options.ranks, most, ProcessWire::kTls));
    ASSIGN_OR_RETURN(shared_, MakeProcessRanks(options.ranks, most, ProcessWire::kSharedMemory));
    ASSIGN_OR_RETURN(rings_, GlooRing::Connect(options.ranks));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<CommRow>> Run() {
    const size_t cases = Collectives(options_.ranks).size();
    for (size_t c = 0; c < cases; ++c) RETURN_IF_ERROR(RunCollective(c));
    for (const CommCase& exchange : Exchanges(options_.ranks)) RETURN_IF_ERROR(RunExchange(exchange));
    return std::move(rows_);
  }

 private:
  // Bytes of the largest exchange that is to be measured.
  int64_t MostExchanged() const {
    int64_t most = 0;
    for (const CommCase& exchange : Exchanges(options_.ranks)) {
      for (const int64_t bytes : options_.bytes) most = std::max(most, bytes > exchange.most_bytes ? 0 : bytes);
    }
    return most;
  }

  bool Wanted(const CommCase& one) const { return options_.collective.empty() || one.name == options_.collective; }

  absl::Status Add(CommRanks& ranks, const std::string& backend, const CommCase& one, int64_t bytes,
                   const std::string& peer) {
    ASSIGN_OR_RETURN(const std::shared_ptr<CommReplay> replay, CommReplay::Capture(ranks, one, bytes, CallsOf(bytes)));
    entries_.push_back(
        {{one.name, backend, bytes, one.in_place}, one.bus_factor, [replay] { return replay->Run(); }, peer, {}});
    return absl::OkStatus();
  }

  // All entries in turns; what a call with next to nothing takes is measured once for each backend.
  absl::Status Measure() {
    for (int round = 0; round <= options_.rounds; ++round) {
      for (Entry& entry : entries_) {
        ASSIGN_OR_RETURN(const double seconds, entry.measure());
        if (round > 0) entry.seconds.push_back(seconds);  // the first one warms up
      }
    }
    return absl::OkStatus();
  }

  absl::Status MeasureLatencies(const std::function<absl::Status(int64_t bytes)>& add, int64_t bytes) {
    entries_.clear();
    RETURN_IF_ERROR(add(bytes));
    RETURN_IF_ERROR(Measure());
    latencies_.clear();
    for (const Entry& entry : entries_) latencies_.push_back(1e6 * Median(entry.seconds));
    return absl::OkStatus();
  }

  absl::Status MeasureSizes(const std::function<absl::Status(int64_t bytes)>& add, const CommCase& one) {
    if (!Wanted(one)) return absl::OkStatus();
    RETURN_IF_ERROR(MeasureLatencies(add, one.least_count * kFloat));
    for (const int64_t bytes : options_.bytes) {
      entries_.clear();
      RETURN_IF_ERROR(add(bytes));
      RETURN_IF_ERROR(Measure());
      for (size_t e = 0; e < entries_.size(); ++e) {
        rows_.push_back(Finish(entries_[e], entries_));
        rows_.back().latency_microseconds = latencies_[e];
      }
    }
    return absl::OkStatus();
  }

  absl::Status RunCollective(size_t index) {
    const CommCase one = Collectives(options_.ranks)[index];
    const bool ring = one.name == "all_reduce";
    return MeasureSizes(
        [&](int64_t bytes) -> absl::Status {
          RETURN_IF_ERROR(Add(local_, local_.backend, one, bytes, ""));
          RETURN_IF_ERROR(Add(tcp_, tcp_.backend, one, bytes, ring ? "gloo_ring" : ""));
          RETURN_IF_ERROR(Add(tls_, tls_.backend, one, bytes, tcp_.backend));
          RETURN_IF_ERROR(Add(shared_, shared_.backend, one, bytes, ring ? "gloo_ring" : ""));
          if (ring) {
            entries_.push_back({{one.name, "gloo_ring", bytes, one.in_place},
                                one.bus_factor,
                                [=, this] { return MeasureRing(rings_, tcp_, one.in_place, bytes); },
                                "",
                                {}});
          }
          for (CommRanks& gpus : cuda_) {
            const CommCase same = Collectives(static_cast<int>(gpus.ranks.size()))[index];
            RETURN_IF_ERROR(Add(gpus, gpus.backend, same, bytes, ""));
          }
          return absl::OkStatus();
        },
        one);
  }

  absl::Status RunExchange(const CommCase& one) {
    return MeasureSizes(
        [&](int64_t bytes) -> absl::Status {
          CommCase plain = one;
          plain.enqueue = CopyPlainly;
          RETURN_IF_ERROR(Add(local_, "memcpy", plain, bytes, ""));
          return bytes > one.most_bytes ? absl::OkStatus() : Add(local_, local_.backend, one, bytes, "memcpy");
        },
        one);
  }

  CommBenchmarkOptions options_;
  CommRanks local_, tcp_, tls_, shared_;
  Rings rings_;
  std::vector<CommRanks> cuda_;
  std::vector<Entry> entries_;     // that are measured in turns now
  std::vector<double> latencies_;  // of each of them, microseconds
  std::vector<CommRow> rows_;
};

}  // namespace

absl::StatusOr<std::vector<CommRow>> BenchmarkComm(const CommBenchmarkOptions& options) {
  CommBenchmark benchmark;
  RETURN_IF_ERROR(benchmark.Open(options));
  return benchmark.Run();
}

}  // namespace partita
