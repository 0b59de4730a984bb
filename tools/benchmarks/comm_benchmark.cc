#include "tools/benchmarks/comm_benchmark.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <thread>

#include "runtime/base/status.h"
#include "runtime/comm/gloo/gloo_ring.h"
#include "runtime/comm/gloo/gloo_world.h"
#include "runtime/comm/local/local_communicator.h"
#include "runtime/comm/memory_store.h"
#include "runtime/device/host/host_device.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

// Calls of a round: as many as move so many bytes, within bounds.
constexpr int64_t kBytesOfRound = 64 << 20;
constexpr int64_t kMostCalls = 200;

struct Rank {
  std::shared_ptr<World> world;
  std::unique_ptr<HostDevice> device;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Stream> stream;
  std::vector<float> in, out;
  std::deque<StridedCopy> copies;  // that the stream has still to make
};

struct Collective {
  std::string name;
  bool in_place = false;
  double bus_factor = 1;  // of bus bandwidth over algorithm bandwidth
  // `count`: elements of the full buffer, which the ranks divide evenly.
  std::function<absl::Status(Rank&, int64_t count)> enqueue;
  // Of what is compared with plain copies: how often each byte is copied, and how large its buffers can be.
  int copies = 0;
  int64_t most_bytes = std::numeric_limits<int64_t>::max();
};

Buffer Of(std::vector<float>& values, int64_t first, int64_t count) {
  return {values.data() + first, count, DType::kF32};
}

std::vector<Collective> Collectives(int ranks) {
  const double share = static_cast<double>(ranks - 1) / ranks;
  const auto blocks = [ranks](int64_t count) { return std::vector<int64_t>(ranks, count / ranks); };
  const auto own = [ranks](const Rank& rank, int64_t count) { return rank.communicator->rank() * (count / ranks); };
  return {
      {"all_reduce", false, 2 * share,
       [](Rank& r, int64_t n) {
         return r.communicator->AllReduce(Of(r.in, 0, n), Of(r.out, 0, n), Reduction::kSum, *r.stream);
       }},
      {"all_reduce", true, 2 * share,
       [](Rank& r, int64_t n) {
         return r.communicator->AllReduce(Of(r.out, 0, n), Of(r.out, 0, n), Reduction::kSum, *r.stream);
       }},
      {"all_gather", false, share,
       [=](Rank& r, int64_t n) {
         return r.communicator->AllGather(Of(r.in, 0, n / ranks), Of(r.out, 0, n), blocks(n), *r.stream);
       }},
      {"all_gather", true, share,
       [=](Rank& r, int64_t n) {
         return r.communicator->AllGather(Of(r.out, own(r, n), n / ranks), Of(r.out, 0, n), blocks(n), *r.stream);
       }},
      {"reduce_scatter", false, share,
       [=](Rank& r, int64_t n) {
         return r.communicator->ReduceScatter(Of(r.in, 0, n), Of(r.out, 0, n / ranks), blocks(n), Reduction::kSum,
                                              *r.stream);
       }},
      {"reduce_scatter", true, share,
       [=](Rank& r, int64_t n) {
         return r.communicator->ReduceScatter(Of(r.out, 0, n), Of(r.out, own(r, n), n / ranks), blocks(n),
                                              Reduction::kSum, *r.stream);
       }},
      {"broadcast", false, 1,
       [](Rank& r, int64_t n) { return r.communicator->Broadcast(Of(r.in, 0, n), Of(r.out, 0, n), 0, *r.stream); }},
      {"broadcast", true, 1,
       [](Rank& r, int64_t n) { return r.communicator->Broadcast(Of(r.out, 0, n), Of(r.out, 0, n), 0, *r.stream); }},
      {"reduce", false, 1,
       [](Rank& r, int64_t n) {
         return r.communicator->Reduce(Of(r.in, 0, n), Of(r.out, 0, n), 0, Reduction::kSum, *r.stream);
       }},
      {"reduce", true, 1,
       [](Rank& r, int64_t n) {
         return r.communicator->Reduce(Of(r.out, 0, n), Of(r.out, 0, n), 0, Reduction::kSum, *r.stream);
       }},
      {"all_to_all", false, share,
       [=](Rank& r, int64_t n) {
         return r.communicator->AllToAll(Of(r.in, 0, n), blocks(n), Of(r.out, 0, n), blocks(n), *r.stream);
       }},
      {"send_receive", false, 1,
       [=](Rank& r, int64_t n) {
         const int next = (r.communicator->rank() + 1) % ranks, before = (r.communicator->rank() + ranks - 1) % ranks;
         const Transfer transfers[] = {Transfer::Send(next, Of(r.in, 0, n)),
                                       Transfer::Receive(before, Of(r.out, 0, n))};
         return r.communicator->SendReceive(transfers, *r.stream);
       }},
  };
}

// Copies `count` runs of `run` floats, `from_stride` and `to_stride` floats apart.
absl::Status CopyRuns(Rank& rank, const float* from, float* to, int64_t run, int64_t count, int64_t from_stride,
                      int64_t to_stride) {
  constexpr int64_t kFloat = sizeof(float);
  rank.copies.push_back({reinterpret_cast<const char*>(from),
                         reinterpret_cast<char*>(to),
                         run * kFloat,
                         {{count, from_stride * kFloat, to_stride * kFloat}}});
  return rank.stream->CopyStrided(rank.copies.back());
}

// Of `in`, samples of a ghost row, kRows rows and a ghost row; edges are packed into `out`, and what comes lies behind.
absl::Status ExchangeHalo(Rank& r, int ranks, int64_t n) {
  constexpr int64_t kSamples = 16, kRows = 4;
  const int64_t row = n / 2 / kSamples, sample = (kRows + 2) * row;
  const int next = (r.communicator->rank() + 1) % ranks, before = (r.communicator->rank() + ranks - 1) % ranks;
  float *const image = r.in.data(), *const packed = r.out.data();
  RETURN_IF_ERROR(CopyRuns(r, image + row, packed, row, kSamples, sample, row));
  RETURN_IF_ERROR(CopyRuns(r, image + kRows * row, packed + n / 2, row, kSamples, sample, row));
  const Transfer transfers[] = {
      Transfer::Send(before, Of(r.out, 0, n / 2)), Transfer::Send(next, Of(r.out, n / 2, n / 2)),
      Transfer::Receive(next, Of(r.out, n, n / 2)), Transfer::Receive(before, Of(r.out, n + n / 2, n / 2))};
  RETURN_IF_ERROR(r.communicator->SendReceive(transfers, *r.stream));
  RETURN_IF_ERROR(CopyRuns(r, packed + n, image + (kRows + 1) * row, row, kSamples, row, sample));
  return CopyRuns(r, packed + n + n / 2, image, row, kSamples, row, sample);
}

absl::Status Repartition(Rank& r, int ranks, int64_t n) {
  constexpr int64_t kColumns = 1024;
  const int64_t rows = n / kColumns, width = kColumns / ranks;
  for (int peer = 0; peer < ranks; ++peer) {
    const float* const from = r.in.data() + peer * width;
    RETURN_IF_ERROR(CopyRuns(r, from, r.out.data() + peer * rows * width, width, rows, kColumns, width));
  }
  const std::vector<int64_t> counts(ranks, rows * width);
  return r.communicator->AllToAll(Of(r.out, 0, rows * width * ranks), counts, Of(r.in, n, rows * width * ranks), counts,
                                  *r.stream);
}

std::vector<Collective> Exchanges(int ranks) {
  return {
      {"halo", false, 1, [=](Rank& r, int64_t n) { return ExchangeHalo(r, ranks, n); }, 3, 16 << 20},
      {"repartition", false, 1, [=](Rank& r, int64_t n) { return Repartition(r, ranks, n); }, 2, 16 << 20},
  };
}

// The same bytes, as often, on a way through as many buffers.
absl::Status CopyPlainly(Rank& r, int64_t n, int copies) {
  for (int64_t copy = 0; copy < copies; ++copy) {
    const float* const from = (copy % 2 == 0 ? r.in : r.out).data() + copy / 2 * n;
    float* const to = (copy % 2 == 0 ? r.out : r.in).data() + (copy + 1) / 2 * n;
    RETURN_IF_ERROR(r.stream->Copy(to, from, n * static_cast<int64_t>(sizeof(float))));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Rank>> MakeRanks(const std::string& backend, int ranks, int64_t elements) {
  std::vector<Rank> made(static_cast<size_t>(ranks));
  if (backend == "local") {
    ASSIGN_OR_RETURN(const std::shared_ptr<World> world, LocalWorld::Create(ranks));
    for (Rank& rank : made) rank.world = world;
  } else {
    MemoryStore store;
    std::vector<absl::Status> connected(made.size());
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        auto world = GlooWorld::Connect(r, ranks, store, {});
        connected[r] = world.status();
        if (world.ok()) made[r].world = *std::move(world);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const absl::Status& status : connected) RETURN_IF_ERROR(status);
  }
  std::vector<int> all(made.size());
  std::iota(all.begin(), all.end(), 0);
  for (int r = 0; r < ranks; ++r) {
    made[r].device = std::make_unique<HostDevice>();
    ASSIGN_OR_RETURN(made[r].communicator, made[r].world->CreateCommunicator(0, all, r));
    ASSIGN_OR_RETURN(made[r].stream, made[r].device->CreateStream("comm"));
    made[r].in.assign(static_cast<size_t>(elements), 1);
    made[r].out.assign(static_cast<size_t>(elements), 0);
  }
  return made;
}

int64_t CallsOf(int64_t bytes) { return std::clamp<int64_t>(kBytesOfRound / bytes, 2, kMostCalls); }

// Seconds of a call.
absl::StatusOr<double> Measure(const Collective& collective, std::vector<Rank>& ranks, int64_t bytes) {
  const int64_t calls = CallsOf(bytes), count = bytes / static_cast<int64_t>(sizeof(float));
  const Clock::time_point begin = Clock::now();
  for (int64_t call = 0; call < calls; ++call) {
    for (Rank& rank : ranks) RETURN_IF_ERROR(collective.enqueue(rank, count));
  }
  for (Rank& rank : ranks) RETURN_IF_ERROR(rank.stream->Synchronize());
  for (Rank& rank : ranks) rank.copies.clear();
  return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(calls);
}

absl::StatusOr<double> MeasureRing(std::vector<std::unique_ptr<GlooRing>>& rings, std::vector<Rank>& buffers,
                                   bool in_place, int64_t bytes) {
  const int64_t calls = CallsOf(bytes), count = bytes / static_cast<int64_t>(sizeof(float));
  std::vector<absl::Status> status(rings.size());
  std::vector<std::thread> threads;
  const Clock::time_point begin = Clock::now();
  for (size_t r = 0; r < rings.size(); ++r) {
    threads.emplace_back([&, r] {
      float* const out = buffers[r].out.data();
      const float* const in = in_place ? out : buffers[r].in.data();
      for (int64_t call = 0; call < calls && status[r].ok(); ++call) status[r] = rings[r]->AllReduce(in, out, count);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& one : status) RETURN_IF_ERROR(one);
  return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(calls);
}

struct Case {
  CommRow row;
  double bus_factor = 1;
  std::function<absl::StatusOr<double>()> measure;
  std::vector<double> seconds;
};

CommRow Finish(Case& done) {
  std::ranges::sort(done.seconds);
  const double seconds = done.seconds[done.seconds.size() / 2];
  CommRow row = done.row;
  row.microseconds = 1e6 * seconds;
  row.algorithm_bandwidth = 1e-9 * static_cast<double>(row.bytes) / seconds;
  row.bus_bandwidth = row.algorithm_bandwidth * done.bus_factor;
  return row;
}

}  // namespace

absl::StatusOr<std::vector<CommRow>> BenchmarkComm(const CommBenchmarkOptions& options) {
  const int64_t elements = *std::ranges::max_element(options.bytes) / static_cast<int64_t>(sizeof(float));
  ASSIGN_OR_RETURN(std::vector<Rank> local, MakeRanks("local", options.ranks, elements));
  ASSIGN_OR_RETURN(std::vector<Rank> gloo, MakeRanks("gloo", options.ranks, elements));
  ASSIGN_OR_RETURN(auto rings, GlooRing::Connect(options.ranks));
  std::vector<Collective> collectives = Collectives(options.ranks);
  std::ranges::move(Exchanges(options.ranks), std::back_inserter(collectives));
  std::vector<CommRow> rows;
  for (const Collective& collective : collectives) {
    if (!options.collective.empty() && collective.name != options.collective) continue;
    Collective plain = collective;
    plain.enqueue = [&](Rank& r, int64_t n) { return CopyPlainly(r, n, collective.copies); };
    for (const int64_t bytes : options.bytes) {
      if (bytes > collective.most_bytes) continue;
      std::vector<Case> cases;
      const auto add = [&](const std::string& backend, std::function<absl::StatusOr<double>()> measure) {
        cases.push_back({{collective.name, backend, bytes, collective.in_place}, collective.bus_factor, measure, {}});
      };
      add("local", [&] { return Measure(collective, local, bytes); });
      if (collective.copies > 0) {
        add("memcpy", [&] { return Measure(plain, local, bytes); });
      } else {
        add("gloo", [&] { return Measure(collective, gloo, bytes); });
      }
      if (collective.name == "all_reduce") {
        add("gloo_ring", [&] { return MeasureRing(rings, gloo, collective.in_place, bytes); });
      }
      for (int round = 0; round <= options.rounds; ++round) {
        for (Case& one : cases) {
          ASSIGN_OR_RETURN(const double seconds, one.measure());
          if (round > 0) one.seconds.push_back(seconds);  // the first one warms up
        }
      }
      for (Case& one : cases) rows.push_back(Finish(one));
    }
  }
  return rows;
}

}  // namespace partita
