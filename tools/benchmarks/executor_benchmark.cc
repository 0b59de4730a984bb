#include "tools/benchmarks/executor_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/device/cycle_clock.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_stream.h"
#include "runtime/exec/executor.h"
#include "tools/benchmarks/median.h"

namespace partita {
namespace {

constexpr int64_t kChainBlock = 64;  // nodes of a chain on one stream
constexpr int kWarmUp = 3;           // steps in which queues grow to their size

class EmptyKernel : public Kernel {
 public:
  absl::Status Launch(Stream& stream) override {
    auto* const host = dynamic_cast<HostStream*>(&stream);
    CHECK(host != nullptr);
    return host->Enqueue({[](void*) { return absl::OkStatus(); }, nullptr});
  }
};

class EmptyKernels : public KernelLibrary {
 public:
  absl::StatusOr<KernelChoice> Choose(const LocalNode&) const override { return KernelChoice{"empty", 0, true}; }
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode&, const KernelChoice&,
                                                 KernelArguments) const override {
    return std::make_unique<EmptyKernel>();
  }
};

// Where a node runs, and which earlier nodes of other streams it waits for.
struct Placed {
  int stream = 0;
  std::vector<int> waits;
};

Placed Place(const std::string& shape, int64_t node, int64_t side, int streams) {
  Placed placed;
  const auto stream_of = [&](int64_t n) {
    const int64_t turn = shape == "chain" ? n / kChainBlock : shape == "wide" ? n : n / side;
    return static_cast<int>(turn % streams);
  };
  placed.stream = stream_of(node);
  const int64_t before = shape == "chain" ? node - 1 : shape == "wavefront" ? node - side : -1;
  if (before >= 0 && stream_of(before) != placed.stream) placed.waits.push_back(static_cast<int>(before));
  return placed;
}

// One case: its executor, and what was measured so far.
struct Case {
  ExecutorRow row;
  std::unique_ptr<Executor> executor;
  std::vector<double> seconds;  // of each round's step
  int64_t allocations = 0;
  int64_t steps = 0;
};

absl::Status Step(Executor& executor) {
  RETURN_IF_ERROR(executor.Start());
  return executor.Wait();
}

absl::Status Measure(Case& measured, const std::function<int64_t()>& allocations) {
  // As many steps as make the measurement long against the clock and the hand-over to the streams' threads.
  const int64_t steps = std::max<int64_t>(1, 100000 / measured.row.nodes);
  const int64_t before = allocations ? allocations() : 0;
  const uint64_t begin = ReadCycles();
  for (int64_t step = 0; step < steps; ++step) RETURN_IF_ERROR(Step(*measured.executor));
  const uint64_t end = ReadCycles();
  if (allocations) measured.allocations += allocations() - before;
  measured.steps += steps;
  measured.seconds.push_back(static_cast<double>(end - begin) * SecondsPerCycle() / static_cast<double>(steps));
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> ExecutorShapes() { return {"chain", "wide", "wavefront"}; }

Schedule EmptySchedule(const std::string& shape, int64_t nodes, int streams) {
  Schedule schedule;
  schedule.streams = streams;
  const int64_t side = std::max<int64_t>(1, std::llround(std::sqrt(static_cast<double>(nodes))));
  for (int64_t node = 0; node < nodes; ++node) {
    Placed placed = Place(shape, node, side, streams);
    Launch launch;
    launch.name = fmt::format("n{}", node);
    launch.node = static_cast<NodeId>(node);
    launch.stream = placed.stream;
    launch.waits = std::move(placed.waits);
    launch.work = KernelLaunch{};
    schedule.launches.push_back(std::move(launch));
  }
  return schedule;
}

absl::StatusOr<std::vector<ExecutorRow>> BenchmarkExecutor(const ExecutorBenchmarkOptions& options) {
  const EmptyKernels kernels;
  HostDevice device;
  ASSIGN_OR_RETURN(const std::unique_ptr<Arena> arena, device.Allocate(64));
  std::vector<std::unique_ptr<Stream>> owned;
  std::vector<Stream*> streams;
  for (int s = 0; s < *std::max_element(options.streams.begin(), options.streams.end()); ++s) {
    ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device.CreateStream(fmt::format("stream {}", s)));
    streams.push_back(stream.get());
    owned.push_back(std::move(stream));
  }
  std::vector<std::unique_ptr<Case>> cases;
  for (const std::string& shape : ExecutorShapes()) {
    for (int64_t nodes : options.nodes) {
      for (int count : options.streams) {
        const Schedule schedule = EmptySchedule(shape, nodes, count);
        for (bool recorder : {false, true}) {
          auto made = std::make_unique<Case>();
          made->row = {shape, nodes, count, recorder, 0, -1};
          ASSIGN_OR_RETURN(made->executor, Executor::Create(schedule, {.device = &device,
                                                                       .streams = streams,
                                                                       .arena = arena->data(),
                                                                       .kernels = &kernels,
                                                                       .communicators = {},
                                                                       .seed = 0,
                                                                       .at_start = {},
                                                                       .at_end = {}}));
          made->executor->SetRecording(recorder);
          for (int step = 0; step < kWarmUp; ++step) RETURN_IF_ERROR(Step(*made->executor));
          made->seconds.reserve(static_cast<size_t>(options.rounds));
          cases.push_back(std::move(made));
        }
      }
    }
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (const auto& measured : cases) RETURN_IF_ERROR(Measure(*measured, options.allocations));
  }
  std::vector<ExecutorRow> rows;
  for (const auto& measured : cases) {
    rows.push_back(measured->row);
    rows.back().ns_per_node = Median(measured->seconds) * 1e9 / static_cast<double>(measured->row.nodes);
    if (options.allocations) {
      rows.back().allocations_per_step =
          static_cast<double>(measured->allocations) / static_cast<double>(measured->steps);
    }
  }
  return rows;
}

std::string ToText(const std::vector<ExecutorRow>& rows) {
  std::string text = fmt::format("{:<10} {:>7} {:>7} {:>8} {:>11} {:>20}\n", "shape", "nodes", "streams", "recorder",
                                 "ns_per_node", "allocations_per_step");
  for (const ExecutorRow& row : rows) {
    text += fmt::format("{:<10} {:>7} {:>7} {:>8} {:>11.1f} {:>20.2f}\n", row.shape, row.nodes, row.streams,
                        row.recorder ? "on" : "off", row.ns_per_node, row.allocations_per_step);
  }
  return text;
}

std::string ToJson(const std::vector<ExecutorRow>& rows) {
  std::string json = "[";
  for (const ExecutorRow& row : rows) {
    json += fmt::format(
        R"({}{{"shape":"{}","nodes":{},"streams":{},"recorder":{},"ns_per_node":{:.3f},"allocations_per_step":{}}})",
        json.size() > 1 ? ",\n " : "", row.shape, row.nodes, row.streams, row.recorder, row.ns_per_node,
        row.allocations_per_step);
  }
  return json + "]\n";
}

}  // namespace partita
