// The steps of a session: inputs in, results out, and what to say if they are not finite, or not applied.
#include "runtime/api/session.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/api/job/packed_values.h"
#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/device/cycle_clock.h"

namespace partita {
namespace {

double ScalarAt(const HeldTensor& part) {
  CHECK(part.data != nullptr);
  if (part.tensor.dtype == DType::kF64) return *static_cast<const double*>(part.data);
  CHECK(part.tensor.dtype == DType::kF32);
  return *static_cast<const float*>(part.data);
}

// Of Graph::apply.
bool Applied(const HeldTensor& part) {
  CHECK(part.data != nullptr && part.tensor.dtype == DType::kI32);
  return *static_cast<const int32_t*>(part.data) != 0;
}

// What a step that does not train is called in a message.
std::string NameOfStep(const EntryPoint& entry) {
  return entry.name == kEvaluateEntry ? "evaluation" : fmt::format("entry point '{}'", entry.name);
}

}  // namespace

int Session::Place(std::string_view entry) const {
  const absl::StatusOr<int> place = program_.PlaceOf(entry);
  CHECK(place.ok());
  return *place;
}

HeldTensor Session::PartOf(const LocalTensor& tensor, int64_t offset, int rank) const {
  return ranks_[rank] == nullptr ? HeldTensor{tensor, nullptr} : ranks_[rank]->PartOf(tensor, offset);
}

HeldTensor Session::ObservedPart(ValueId value, int rank) const {
  const int entry = Place(kTrainEntry);
  if (ranks_[rank] == nullptr) return {schedules_[entry][rank].values[value].tensor, nullptr};
  return ranks_[rank]->ObservedPart(entry, value);
}

absl::StatusOr<std::vector<HeldTensor>> Session::InputPlacements(std::string_view entry, const std::string& field,
                                                                 int rank) const {
  ASSIGN_OR_RETURN(const int place, program_.PlaceOf(entry));
  const EntryInput* const input = program_.entries[place].FindInput(field);
  if (input == nullptr) return InvalidArgument("entry point '{}' has no input '{}'", std::string(entry), field);
  std::vector<HeldTensor> parts;
  for (const ValueId value : input->values) {
    const ValuePlacement& placement = schedules_[place][rank].values[value];
    parts.push_back(PartOf(placement.tensor, placement.offset, rank));
  }
  // Micro-batches follow each other in the batch.
  for (size_t m = 0; m < parts.size() && parts.size() > 1; ++m) {
    LocalTensor& tensor = parts[m].tensor;
    tensor.box.offset[0] += static_cast<int64_t>(m) * tensor.global[0];
    tensor.global[0] *= static_cast<int64_t>(parts.size());
  }
  return parts;
}

absl::Status Session::StageInput(std::string_view entry, const std::string& field, const ConstTensor& whole) {
  for (int rank = 0; rank < ranks(); ++rank) {
    ASSIGN_OR_RETURN(const std::vector<HeldTensor> parts, InputPlacements(entry, field, rank));
    for (const HeldTensor& part : parts) {
      if (part.tensor.dtype != whole.dtype || part.tensor.global != whole.shape) {
        return InvalidArgument("field '{}' is {}{}; given is {}{}", field, Name(part.tensor.dtype),
                               ToString(part.tensor.global), Name(whole.dtype), ToString(whole.shape));
      }
      CopyToPart(static_cast<const char*>(whole.data), part);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<StepResult> Session::Train(const InputFiller& next) { return ScalarStep(train_, next); }
absl::StatusOr<StepResult> Session::Evaluate(const InputFiller& next) { return ScalarStep(evaluate_, next); }

absl::StatusOr<StepResult> Session::ScalarStep(const absl::StatusOr<int>& entry, const InputFiller& next) {
  RETURN_IF_ERROR(entry.status());
  RETURN_IF_ERROR(Step(*entry, next));
  return ResultOf(*entry);
}

absl::StatusOr<std::vector<HostTensor>> Session::Predict(const InputFiller& next) {
  RETURN_IF_ERROR(predict_.status());
  RETURN_IF_ERROR(Step(*predict_, next));
  const int rank = local_ranks_.front();  // all ranks hold the results
  std::vector<HostTensor> results;
  for (size_t r = 0; r < program_.entries[*predict_].results.size(); ++r) {
    const HeldTensor part = PartOf(schedules_[*predict_][rank].results[r], rank);
    const char* const bytes = static_cast<const char*>(part.data);
    results.push_back({part.tensor.dtype, part.tensor.global, {bytes, bytes + part.tensor.bytes()}});
  }
  return results;
}

// Ranks that share a device are in step with each other; those with devices of their own have one turn.
absl::StatusOr<int> Session::TakeInputs(int entry) {
  int turn = 0;
  for (const int rank : local_ranks_) {
    ASSIGN_OR_RETURN(turn, ranks_[rank]->TakeInputs(entry));
  }
  return turn;
}

absl::Status Session::FillNext(int entry, const InputFiller& next) {
  if (!next) return absl::OkStatus();
  for (const int rank : local_ranks_) RETURN_IF_ERROR(ranks_[rank]->WaitUntilInputsSent(entry));
  RETURN_IF_ERROR(next());
  for (const int rank : local_ranks_) RETURN_IF_ERROR(ranks_[rank]->SendInputs(entry));
  return absl::OkStatus();
}

// Nobody knows how far a step came that ended for want of memory, and other ranks may wait for this one.
absl::Status Session::Step(int entry, const InputFiller& next) {
  const absl::Status status = OrExhausted("a step", [&] { return TakeStep(entry, next); });
  if (absl::IsResourceExhausted(status) && dead_.ok()) {
    dead_ = status;
    backend_->world().Abort(dead_);
  }
  return status;
}

absl::Status Session::TakeStep(int entry, const InputFiller& next) {
  RETURN_IF_ERROR(dead_);
  const EntryPoint& point = program_.entries[entry];
  const bool training = point.name == kTrainEntry;
  std::vector<Executor*> executors;
  executors.reserve(local_ranks_.size());
  for (const int rank : local_ranks_) {
    Executor* const executor = &ranks_[rank]->executor(entry);
    if (executors.empty() || executors.back() != executor) executors.push_back(executor);
  }
  if (training) {
    ++train_steps_;
    not_applied_ = absl::OkStatus();
  }
  const absl::StatusOr<int> turn = TakeInputs(entry);
  if (!turn.ok()) dead_ = turn.status();
  RETURN_IF_ERROR(dead_);
  absl::Status filled;
  const auto fill = [&] { filled = FillNext(entry, next); };
  const bool ahead = backend_->gpu() != nullptr;
  const absl::Status ran = RunAll(executors, *turn, ahead ? std::function<void()>(std::ref(fill)) : nullptr);
  if (absl::IsInvalidArgument(ran)) {  // wrong data
    dead_ = WithContext(training ? fmt::format("step {}", train_steps_) : NameOfStep(point), ran);
  }
  RETURN_IF_ERROR(dead_);
  const absl::Status finite = CheckFinite(entry);
  if (training) not_applied_ = finite;
  RETURN_IF_ERROR(finite);
  if (!ahead) fill();
  return filled;
}

absl::Status Session::CheckFinite(int entry) const {
  const EntryPoint& point = program_.entries[entry];
  if (point.graph.loss == kNoValue) return absl::OkStatus();
  const int rank = local_ranks_.front();  // all ranks hold the results
  const std::vector<Placement>& results = schedules_[entry][rank].results;
  const double loss = ScalarAt(PartOf(results[0], rank));
  const bool finite = std::isfinite(loss);
  if (finite && (point.graph.apply == kNoValue || Applied(PartOf(results[point.results.size()], rank))))
    return absl::OkStatus();
  const bool training = point.name == kTrainEntry;
  return OutOfRange("{}: node '{}': the loss is {}{}",
                    training ? fmt::format("step {}", train_steps_) : NameOfStep(point), point.results[0].name, loss,
                    finite ? ", but the norm of the gradients is not finite" : "");
}

absl::Status Session::RunAll(const std::vector<Executor*>& executors, int turn,
                             const std::function<void()>& meanwhile) {
  absl::Status status;
  size_t started = 0;
  for (; started < executors.size() && status.ok(); ++started) {
    started_[started] = ReadCycles();
    status = executors[started]->Start(turn);
  }
  if (!status.ok()) backend_->world().Abort(status);
  if (status.ok() && meanwhile) meanwhile();
  for (size_t i = 0; i < started; ++i) {
    const absl::Status ended = executors[i]->Wait();
    if (status.ok()) status = ended;
  }
  for (size_t i = 0; i < local_ranks_.size() && status.ok(); ++i) {
    const int rank = local_ranks_[i];
    status = WithContext(fmt::format("rank {}", rank),
                         ranks_[rank]->CheckGuards(/*guard_only=*/options_.tests.guard_bytes == 0));
  }
  dead_ = status;
  return status;
}

StepResult Session::ResultOf(int entry) const {
  StepResult result;
  const EntryPoint& point = program_.entries[entry];
  const int rank = local_ranks_.front();  // all ranks hold the results
  const std::vector<Placement>& placements = schedules_[entry][rank].results;
  const size_t losses = point.graph.loss == kNoValue ? 0 : 1;
  if (losses > 0) result.loss = ScalarAt(PartOf(placements[0], rank));
  for (size_t r = losses; r < point.results.size(); ++r) {
    result.metrics.emplace_back(point.results[r].name, ScalarAt(PartOf(placements[r], rank)));
  }
  return result;
}

absl::Status Session::Diagnose() {
  RETURN_IF_ERROR(dead_);
  if (not_applied_.ok() || backend_->gpu() != nullptr) return not_applied_;
  RETURN_IF_ERROR(train_.status());
  const int entry = *train_;
  const absl::StatusOr<ValueId> first =
      OrExhausted("a diagnosis", [&]() -> absl::StatusOr<ValueId> { return FirstNonFinite(entry); });
  RETURN_IF_ERROR(first.status());
  if (*first == kNoValue) return not_applied_;
  return OutOfRange("{}; the first value that is not finite is '{}'", std::string(not_applied_.message()),
                    program_.entries[entry].graph.value(*first).name);
}

// Of all processes.
absl::StatusOr<ValueId> Session::FirstNonFinite(int entry) {
  std::vector<std::unique_ptr<Executor>> diagnoses;
  std::vector<Executor*> executors;
  for (const int rank : local_ranks_) {
    ASSIGN_OR_RETURN(std::unique_ptr<Executor> diagnosis, ranks_[rank]->MakeDiagnosis(entry));
    executors.push_back(diagnosis.get());
    diagnoses.push_back(std::move(diagnosis));
  }
  RETURN_IF_ERROR(RunAll(executors, 0, nullptr));
  ValueId first = kNoValue;
  const auto take = [&](ValueId value) {
    if (value != kNoValue && (first == kNoValue || value < first)) first = value;
  };
  for (const auto& diagnosis : diagnoses) take(diagnosis->FirstNonFinite());
  PackedValues packed;
  packed.Add(first);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather(packed.bytes()));
  for (const std::string& process : all) take(PackedReader(process).Next<ValueId>());
  return first;
}

void Session::RecordTimeline(bool on) {
  for (const int rank : local_ranks_) ranks_[rank]->SetRecording(on);
}

std::vector<LaunchSpan> Session::Timeline(std::string_view entry, int rank) const {
  if (ranks_[rank] == nullptr) return {};
  const std::vector<Span> spans = ranks_[rank]->Spans(Place(entry));
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

void Session::Abort(const absl::Status& status) { backend_->world().Abort(status); }

}  // namespace partita
