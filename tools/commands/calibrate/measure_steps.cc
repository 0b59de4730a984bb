#include "tools/commands/calibrate/measure_steps.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "graph/ir/generated_name.h"
#include "graph/timeline/hand_overs.h"
#include "graph/timeline/step_times.h"
#include "ops/registry.h"
#include "runtime/base/median.h"
#include "runtime/base/status.h"
#include "runtime/data/arrays/synthetic_batches.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/graph_fields.h"

namespace partita {
namespace {

// At most so many steps before those that are timed; fewer where they last so long together, as what starting costs is
// a small part of such a step.
constexpr int64_t kWarmUp = 3;
constexpr double kSecondsOfWarmUp = 0.5;

// Random ones, used in turns.
constexpr int64_t kBatches = 4;

// One batch for each place in the turn, in the order of the entry point's inputs.
using Batches = std::vector<std::vector<HostTensor>>;

absl::StatusOr<HostTensor> TakeField(const std::string& name, const std::vector<Field>& fields,
                                     std::vector<HostTensor>& batch) {
  for (size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].name == name) return std::move(batch[f]);
  }
  return Internal("input '{}': the graph has no field of that name", name);
}

absl::StatusOr<Batches> MakeBatches(const Graph& forward, const EntryPoint& entry) {
  ASSIGN_OR_RETURN(const int64_t rows, BatchRows(forward));
  const SyntheticBatches source(WantedFields(forward, DType::kF32),
                                {rows, kBatches, 1, {kSampleWeightName, DType::kF32, {}}});
  Batches batches;
  for (int64_t b = 0; b < kBatches; ++b) {
    ASSIGN_OR_RETURN(std::vector<HostTensor> whole, WholeBatch(source, b));
    std::vector<HostTensor>& batch = batches.emplace_back();
    for (const EntryInput& input : entry.inputs) {
      ASSIGN_OR_RETURN(batch.emplace_back(), TakeField(input.field, source.fields(), whole));
    }
  }
  return batches;
}

absl::Status RunStep(Session& session, const EntryPoint& entry, const std::vector<HostTensor>& batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    RETURN_IF_ERROR(session.StageInput(kTrainEntry, entry.inputs[i].field, batch[i]));
  }
  const absl::Status done = session.Train().status();
  return absl::IsOutOfRange(done) ? absl::OkStatus() : done;
}

const std::vector<HostTensor>& BatchOf(const Batches& batches, int64_t step) {
  return batches[static_cast<size_t>(step % kBatches)];
}

void AddKernels(const std::vector<LaunchSpan>& spans, MeasuredKernels& kernels) {
  for (const LaunchSpan& span : spans) {
    const auto* const kernel = std::get_if<KernelLaunch>(&span.launch->work);
    if (kernel == nullptr || span.end <= span.begin) continue;
    MeasuredKernel& measured = kernels[SignatureOf(kernel->node)];
    if (measured.seconds.empty()) {
      measured.op = kernel->node.op->name;
      measured.work = WorkOf(kernel->node);
    }
    measured.seconds.push_back(span.end - span.begin);
  }
}

}  // namespace

double SecondsOfStep(const Session& session) {
  double slowest = 0;
  for (const int rank : session.local_ranks()) {
    slowest = std::max(slowest, TimesOf(session.Timeline(kTrainEntry, rank)).step);
  }
  return slowest;
}

absl::StatusOr<MeasuredSteps> MeasureSteps(const Model& model, const Strategy& strategy, const ProgramOptions& program,
                                           const SessionOptions& session, int64_t steps) {
  SessionOptions recorded = session;
  recorded.record_timeline = true;
  ASSIGN_OR_RETURN(Program made, MakeProgram(model, strategy, Ops(), program));
  MeasuredSteps measured;
  ASSIGN_OR_RETURN(measured.session, Session::Start(std::move(made), recorded));
  const EntryPoint& entry = *measured.session->program().Find(kTrainEntry);
  ASSIGN_OR_RETURN(const Batches batches, MakeBatches(model.graph, entry));
  int64_t warm = 0;
  for (double warmed = 0; warm < kWarmUp && warmed < kSecondsOfWarmUp; ++warm) {
    RETURN_IF_ERROR(RunStep(*measured.session, entry, BatchOf(batches, warm)));
    warmed += SecondsOfStep(*measured.session);
  }
  std::vector<double> seconds, computing;
  for (int64_t step = warm; step < warm + steps; ++step) {
    RETURN_IF_ERROR(RunStep(*measured.session, entry, BatchOf(batches, step)));
    double slowest = 0, compute = 0;
    for (const int rank : measured.session->local_ranks()) {
      const std::vector<LaunchSpan> spans = measured.session->Timeline(kTrainEntry, rank);
      const StepTimes times = TimesOf(spans);
      slowest = std::max(slowest, times.step);
      compute += times.compute;
      AddKernels(spans, measured.kernels);
      std::ranges::move(HandOvers(measured.session->schedule(kTrainEntry, rank), spans),
                        std::back_inserter(measured.hand_overs));
    }
    seconds.push_back(slowest);
    computing.push_back(compute / slowest);
  }
  measured.seconds = Median(std::move(seconds));
  measured.computing = Median(std::move(computing));
  return measured;
}

}  // namespace partita
