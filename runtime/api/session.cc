// The steps of a session: inputs in, results out, and what to say if they are not finite.
#include "runtime/api/session.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/ir/generated_name.h"
#include "runtime/api/job/packed_values.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/device/cycle_clock.h"

namespace partita {
namespace {

double ScalarAt(const HeldPart& part) {
  CHECK(part.data != nullptr);
  if (part.tensor.dtype == DType::kF64) return *static_cast<const double*>(part.data);
  CHECK(part.tensor.dtype == DType::kF32);
  return *static_cast<const float*>(part.data);
}

// A reported value is often a move of what the user named: "loss@all_reduce".
std::string UserName(const std::string& name) { return name.substr(0, name.find('@')); }

}  // namespace

HeldPart Session::PartOf(const Placement& placement, int rank) const {
  return ranks_[rank] == nullptr ? HeldPart{placement.tensor, nullptr} : ranks_[rank]->PartOf(placement);
}

HeldPart Session::ObservedPart(ValueId value, int rank) const {
  if (ranks_[rank] == nullptr) return {train_[rank].values[value].tensor, nullptr};
  return ranks_[rank]->ObservedPart(value);
}

absl::StatusOr<std::vector<HeldPart>> Session::InputPlacements(Entry entry, const std::string& name, int rank) const {
  std::vector<HeldPart> parts;
  for (const Placement& placement : schedule(entry, rank).inputs) {
    if (placement.name == name) return std::vector<HeldPart>{PartOf(placement, rank)};
    if (placement.name == MicroBatchName(name, static_cast<int64_t>(parts.size()))) {
      parts.push_back(PartOf(placement, rank));
    }
  }
  if (parts.empty()) return InvalidArgument("there is no input '{}'", name);
  // Micro-batches follow each other in the batch.
  for (size_t m = 0; m < parts.size(); ++m) {
    LocalTensor& tensor = parts[m].tensor;
    tensor.box.offset[0] += static_cast<int64_t>(m) * tensor.global[0];
    tensor.global[0] *= static_cast<int64_t>(parts.size());
  }
  return parts;
}

absl::Status Session::StageInput(Entry entry, const std::string& name, const HostTensor& whole) {
  for (int rank = 0; rank < ranks(); ++rank) {
    ASSIGN_OR_RETURN(const std::vector<HeldPart> parts, InputPlacements(entry, name, rank));
    for (const HeldPart& part : parts) {
      if (part.tensor.dtype != whole.dtype || part.tensor.global != whole.shape) {
        return InvalidArgument("input '{}' is {}{}, given is {}{}", name, Name(part.tensor.dtype),
                               ToString(part.tensor.global), Name(whole.dtype), ToString(whole.shape));
      }
      CopyToPart(whole.bytes.data(), part);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<StepResult> Session::Train(const InputFiller& next) { return Step(Entry::kTrain, next); }
absl::StatusOr<StepResult> Session::Evaluate(const InputFiller& next) { return Step(Entry::kEvaluate, next); }

// Ranks that share a device are in step with each other; those with devices of their own have one turn.
absl::StatusOr<int> Session::TakeInputs(Entry entry) {
  int turn = 0;
  for (const int rank : local_ranks_) {
    ASSIGN_OR_RETURN(turn, ranks_[rank]->TakeInputs(entry));
  }
  return turn;
}

absl::Status Session::FillNext(Entry entry, const InputFiller& next) {
  if (!next) return absl::OkStatus();
  for (const int rank : local_ranks_) RETURN_IF_ERROR(ranks_[rank]->WaitUntilInputsSent(entry));
  RETURN_IF_ERROR(next());
  for (const int rank : local_ranks_) RETURN_IF_ERROR(ranks_[rank]->SendInputs(entry));
  return absl::OkStatus();
}

absl::StatusOr<StepResult> Session::Step(Entry entry, const InputFiller& next) {
  RETURN_IF_ERROR(dead_);
  const bool diagnosable = options_.find_non_finite && entry == Entry::kTrain;
  std::vector<Executor*> executors;
  executors.reserve(local_ranks_.size());
  for (const int rank : local_ranks_) {
    if (diagnosable) ranks_[rank]->TakeSnapshot();
    Executor* const executor = &ranks_[rank]->executor(entry);
    if (executors.empty() || executors.back() != executor) executors.push_back(executor);
  }
  if (entry == Entry::kTrain) ++train_steps_;
  const absl::StatusOr<int> turn = TakeInputs(entry);
  if (!turn.ok()) dead_ = turn.status();
  RETURN_IF_ERROR(dead_);
  absl::Status filled;
  const auto fill = [&] { filled = FillNext(entry, next); };
  const bool ahead = gpu_ != nullptr;
  const absl::Status ran = RunAll(executors, *turn, ahead ? std::function<void()>(std::ref(fill)) : nullptr);
  if (absl::IsInvalidArgument(ran)) {  // wrong data
    const bool training = entry == Entry::kTrain;
    dead_ = WithContext(training ? fmt::format("step {}", train_steps_) : std::string("evaluation"), ran);
  }
  RETURN_IF_ERROR(dead_);
  StepResult result = ResultOf(entry);
  if (!std::isfinite(result.loss)) return NotFinite(entry, result);
  if (!ahead) fill();
  RETURN_IF_ERROR(filled);
  return result;
}

absl::Status Session::RunAll(const std::vector<Executor*>& executors, int turn,
                             const std::function<void()>& meanwhile) {
  absl::Status status;
  size_t started = 0;
  for (; started < executors.size() && status.ok(); ++started) {
    started_[started] = ReadCycles();
    status = executors[started]->Start(turn);
  }
  if (!status.ok()) world_->Abort(status);
  if (status.ok() && meanwhile) meanwhile();
  for (size_t i = 0; i < started; ++i) {
    const absl::Status ended = executors[i]->Wait();
    if (status.ok()) status = ended;
  }
  for (size_t i = 0; i < local_ranks_.size() && status.ok(); ++i) {
    const int rank = local_ranks_[i];
    status =
        WithContext(fmt::format("rank {}", rank), ranks_[rank]->CheckGuards(/*guard_only=*/options_.guard_bytes == 0));
  }
  dead_ = status;
  return status;
}

StepResult Session::ResultOf(Entry entry) const {
  StepResult result;
  const Graph& entry_graph = graph(entry);
  const int rank = local_ranks_.front();  // all ranks hold the results
  for (const Placement& placement : schedule(entry, rank).results) {
    const double value = ScalarAt(PartOf(placement, rank));
    if (entry_graph.loss != kNoValue && placement.name == entry_graph.value(entry_graph.loss).name) {
      result.loss = value;
    } else {
      result.metrics.emplace_back(UserName(placement.name), value);
    }
  }
  return result;
}

absl::Status Session::NotFinite(Entry entry, const StepResult& result) {
  const Graph& entry_graph = graph(entry);
  const std::string loss = UserName(entry_graph.value(entry_graph.loss).name);
  if (entry == Entry::kEvaluate) return OutOfRange("evaluation: node '{}': the loss is {}", loss, result.loss);
  const std::string what = fmt::format("step {}: node '{}': the loss is {}", train_steps_, loss, result.loss);
  if (!options_.find_non_finite) return absl::OutOfRangeError(what);
  std::vector<std::unique_ptr<Executor>> diagnoses;
  std::vector<Executor*> executors;
  for (const int rank : local_ranks_) {
    ranks_[rank]->RestoreSnapshot();
    ASSIGN_OR_RETURN(std::unique_ptr<Executor> diagnosis, ranks_[rank]->MakeDiagnosis());
    executors.push_back(diagnosis.get());
    diagnoses.push_back(std::move(diagnosis));
  }
  RETURN_IF_ERROR(RunAll(executors, 0, nullptr));
  ValueId first = kNoValue;
  for (const auto& diagnosis : diagnoses) {
    const ValueId value = diagnosis->FirstNonFinite();
    if (value != kNoValue && (first == kNoValue || value < first)) first = value;
  }
  PackedValues packed;
  packed.Add(first);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather(packed.bytes()));
  for (const std::string& process : all) {
    const auto value = PackedReader(process).Next<ValueId>();
    if (value != kNoValue && (first == kNoValue || value < first)) first = value;
  }
  if (first == kNoValue) return absl::OutOfRangeError(what);
  return OutOfRange("{}; the first value that is not finite is '{}'", what, entry_graph.value(first).name);
}

void Session::RecordTimeline(bool on) {
  for (const int rank : local_ranks_) ranks_[rank]->SetRecording(on);
}

std::vector<LaunchSpan> Session::Timeline(Entry entry, int rank) const {
  if (ranks_[rank] == nullptr) return {};
  const std::vector<Span> spans = ranks_[rank]->Spans(entry);
  const auto index = static_cast<size_t>(std::ranges::find(local_ranks_, rank) - local_ranks_.begin());
  const double shift = static_cast<double>(started_[index] - started_[0]) * SecondsPerCycle();
  const std::vector<Launch>& launches = schedule(entry, rank).launches;
  std::vector<LaunchSpan> timeline;
  for (size_t l = 0; l < std::min(spans.size(), launches.size()); ++l) {
    if (spans[l].end == 0) continue;
    timeline.push_back({&launches[l], spans[l].begin + shift, spans[l].end + shift});
  }
  return timeline;
}

void Session::Abort(const absl::Status& status) { world_->Abort(status); }

}  // namespace partita
