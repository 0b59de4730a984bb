#include "tools/benchmarks/halo_benchmark.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/timeline/overlap.h"
#include "ops/registry.h"
#include "partitioner/clusters/cluster_by_default.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/median.h"
#include "tools/models/models.h"

namespace partita {
namespace {

struct Case {
  HaloRow row;
  std::unique_ptr<Session> session;
  std::vector<double> step, in_flight, exposed;  // milliseconds, by round
};

bool IsHalo(const Graph& graph, const Launch& launch) {
  if (!std::holds_alternative<CollectiveLaunch>(launch.work)) return false;
  const std::optional<MoveKind> move = graph.node(launch.node).op->move;
  return move && MovesGhosts(*move);
}

// Of the last step, the mean of the ranks.
void MeasureHalos(const Session& session, double& in_flight, double& exposed) {
  for (int rank = 0; rank < session.ranks(); ++rank) {
    std::vector<TimeRange> halos, work;
    for (const LaunchSpan& span : session.Timeline(kTrainEntry, rank)) {
      if (std::holds_alternative<HostLaunch>(span.launch->work)) continue;
      const bool halo = IsHalo(session.graph(kTrainEntry), *span.launch);
      (halo ? halos : work).push_back(RangeOf(span));
    }
    const OverlapTime time = MeasureOverlap(std::move(halos), std::move(work));
    in_flight += static_cast<double>(time.busy_ns) * 1e-6 / session.ranks();
    exposed += static_cast<double>(time.exposed_ns) * 1e-6 / session.ranks();
  }
}

int64_t ConvolutionsInParts(const Session& session) {
  int64_t count = 0;
  for (int rank = 0; rank < session.ranks(); ++rank) {
    std::map<NodeId, int> parts;  // one alone is of a node that is made in columns of a wider value
    for (const Launch& launch : session.schedule(kTrainEntry, rank).launches) {
      const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
      if (kernel != nullptr && !kernel->node.within.empty()) ++parts[launch.node];
    }
    count += std::ranges::count_if(parts, [](const auto& part) { return part.second > 1; });
  }
  return count;
}

const char* Name(OverlapHalo overlap) {
  return overlap == OverlapHalo::kOff ? "off" : overlap == OverlapHalo::kOn ? "on" : "auto";
}

constexpr OverlapHalo kCases[] = {OverlapHalo::kOff, OverlapHalo::kAuto, OverlapHalo::kOn};

absl::Status StageBatch(Session& session, const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op->role != Role::kInput) continue;
    const Value& value = graph.value(node.outputs[0]);
    HostTensor tensor{value.type.dtype, value.type.shape, {}};  // labels of class 0, grey images
    tensor.bytes.resize(static_cast<size_t>(Elements(value.type.shape) * SizeOf(value.type.dtype)));
    RETURN_IF_ERROR(session.StageInput(kTrainEntry, value.name, tensor));
  }
  return absl::OkStatus();
}

absl::StatusOr<Case> MakeCase(const HaloBenchmarkOptions& options, bool delayed, OverlapHalo overlap) {
  ASSIGN_OR_RETURN(Model model,
                   MakeModel(options.model, {.batch = options.batch, .image_size = options.image_size}, Ops()));
  model.learning_rate.steps = 1'000'000;
  Strategy strategy;
  strategy.mesh = Mesh{{{"height", options.ranks}}};
  strategy.ops.push_back({"images", {{"height", AxisConfig{"height", 0, {}}}}, {}});
  SessionOptions session;
  session.speed = SpeedByDefault(options.ranks);
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, strategy, Ops(), {.speed = session.speed}));
  session.threads_per_rank = 1;
  session.record_timeline = true;
  session.overlap_halo = overlap;
  if (delayed) session.tests.delay_seed = 1;
  Case result;
  ASSIGN_OR_RETURN(result.session, Session::Start(std::move(program), session));
  result.session->RecordTimeline(true);
  result.row.model = options.model;
  result.row.ranks = options.ranks;
  result.row.delayed = delayed;
  result.row.overlap = Name(overlap);
  result.row.convolutions = ConvolutionsInParts(*result.session);
  return result;
}

absl::Status RunRound(const HaloBenchmarkOptions& options, Case& entry, bool counts) {
  double seconds = 0, in_flight = 0, exposed = 0;
  for (int64_t step = 0; step < options.steps; ++step) {
    RETURN_IF_ERROR(StageBatch(*entry.session, entry.session->graph(kTrainEntry)));
    const auto start = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(entry.session->Train().status());
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    MeasureHalos(*entry.session, in_flight, exposed);
  }
  if (!counts) return absl::OkStatus();
  const auto steps = static_cast<double>(options.steps);
  entry.step.push_back(seconds * 1e3 / steps);
  entry.in_flight.push_back(in_flight / steps);
  entry.exposed.push_back(exposed / steps);
  return absl::OkStatus();
}

void Finish(const Case& off, Case& entry) {
  entry.row.rounds = static_cast<int64_t>(entry.step.size());
  entry.row.step_ms = Median(entry.step);
  entry.row.ratio = MedianRatio(off.step, entry.step);
  entry.row.in_flight_ms = Median(entry.in_flight);
  entry.row.exposed_ms = Median(entry.exposed);
}

}  // namespace

absl::StatusOr<std::vector<HaloRow>> BenchmarkHalo(const HaloBenchmarkOptions& options) {
  std::vector<Case> cases;
  for (const bool delayed : {false, true}) {
    for (const OverlapHalo overlap : kCases) {
      ASSIGN_OR_RETURN(Case entry, MakeCase(options, delayed, overlap));
      cases.push_back(std::move(entry));
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto over = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > options.seconds;
  };
  for (int64_t round = -1; round < options.rounds && (round <= 0 || !over()); ++round) {  // the first one warms up
    for (Case& entry : cases) RETURN_IF_ERROR(RunRound(options, entry, round >= 0));
  }
  std::vector<HaloRow> rows;
  for (size_t c = 0; c < cases.size(); ++c) {
    Finish(cases[c / std::size(kCases) * std::size(kCases)], cases[c]);
    rows.push_back(cases[c].row);
  }
  return rows;
}

}  // namespace partita
