#include "tools/commands/calibrate/measure_kernels.h"

#include <memory>
#include <utility>
#include <variant>

#include "runtime/api/session.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kWarmUp = 3;

// Grey images of class 0, words of the vocabulary's first row.
std::vector<std::pair<std::string, HostTensor>> Zeros(const EntryPoint& entry) {
  std::vector<std::pair<std::string, HostTensor>> inputs;
  for (const EntryInput& input : entry.inputs) {
    const TensorType& type = entry.graph.type(input.values[0]);
    HostTensor tensor{type.dtype, type.shape, {}};
    // Micro-batches follow each other in the batch.
    if (input.values.size() > 1) tensor.shape[0] *= static_cast<int64_t>(input.values.size());
    tensor.bytes.resize(static_cast<size_t>(Elements(tensor.shape) * SizeOf(tensor.dtype)));
    inputs.emplace_back(input.field, std::move(tensor));
  }
  return inputs;
}

void AddStep(const Session& session, MeasuredKernels& kernels) {
  for (const int rank : session.local_ranks()) {
    for (const LaunchSpan& span : session.Timeline(kTrainEntry, rank)) {
      const auto* const kernel = std::get_if<KernelLaunch>(&span.launch->work);
      if (kernel == nullptr || span.end <= span.begin) continue;
      MeasuredKernel& measured = kernels[SignatureOf(kernel->node)];
      if (measured.seconds.empty()) measured.work = WorkOf(kernel->node);
      measured.seconds.push_back(span.end - span.begin);
    }
  }
}

}  // namespace

absl::StatusOr<MeasuredKernels> MeasureKernels(Program program, const SessionOptions& options, int64_t steps) {
  SessionOptions recorded = options;
  recorded.record_timeline = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Start(std::move(program), recorded));
  const auto inputs = Zeros(*session->program().Find(kTrainEntry));
  MeasuredKernels kernels;
  for (int64_t step = 0; step < kWarmUp + steps; ++step) {
    for (const auto& [field, tensor] : inputs) RETURN_IF_ERROR(session->StageInput(kTrainEntry, field, tensor));
    const absl::Status done = session->Train().status();
    if (!absl::IsOutOfRange(done)) RETURN_IF_ERROR(done);
    if (step >= kWarmUp) AddStep(*session, kernels);
  }
  return kernels;
}

}  // namespace partita
