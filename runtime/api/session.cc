// Where a session's inputs go, where a step that was not applied went wrong, and when its launches ran.
#include "runtime/api/session.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "graph/schedule/localize.h"
#include "runtime/api/job/job.h"
#include "runtime/api/job/packed_values.h"
#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/device/cycle_clock.h"
#include "runtime/flight_recorder/flight_recorder.h"

namespace partita {
namespace {

// A value as a message names it: sums that the update makes have generated names, which say nothing to a user.
std::string Described(const std::string& value) {
  constexpr std::string_view kSquares = "@squares";
  if (value.starts_with("@norm")) return "the sum of squares of the gradients, which clipping reads";
  if (value.starts_with("@losses")) return "the sum of the losses";
  if (!value.ends_with(kSquares)) return fmt::format("'{}'", value);
  return fmt::format("the sum of squares of '{}', which clipping reads",
                     value.substr(0, value.size() - kSquares.size()));
}

}  // namespace

int Session::Place(std::string_view entry) const {
  const absl::StatusOr<int> place = program_.PlaceOf(entry);
  CHECK(place.ok());
  return *place;
}

size_t Session::PlaceOfRank(int rank) const {
  const auto found = std::ranges::find(local_ranks_, rank);
  CHECK(found != local_ranks_.end());
  return static_cast<size_t>(found - local_ranks_.begin());
}

HeldTensor Session::PartOf(const LocalTensor& tensor, int64_t offset, int rank) const {
  return ranks_[rank] == nullptr ? HeldTensor{tensor, nullptr} : ranks_[rank]->PartOf(tensor, offset);
}

HeldTensor Session::ObservedPart(ValueId value, int rank) const {
  const int entry = Place(kTrainEntry);
  if (ranks_[rank] == nullptr) return {LocalTensorOf(program_.entries[entry].graph, value, rank), nullptr};
  return ranks_[rank]->ObservedPart(entry, value);
}

absl::StatusOr<std::vector<HeldTensor>> Session::InputPlacements(std::string_view entry, const std::string& field,
                                                                 int rank) const {
  ASSIGN_OR_RETURN(const int place, program_.PlaceOf(entry));
  const EntryInput* const input = program_.entries[place].FindInput(field);
  if (input == nullptr) return InvalidArgument("entry point '{}' has no input '{}'", std::string(entry), field);
  std::vector<HeldTensor> parts;
  for (const ValueId value : input->values) {
    const ValuePlacement& placement = ScheduleOf(place, rank).values[value];
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
  for (const int rank : local_ranks_) {
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

absl::Status Session::Diagnose() {
  RETURN_IF_ERROR(dead_);
  RETURN_IF_ERROR(CheckIdle("diagnose"));
  if (!absl::IsOutOfRange(not_applied_) || backend_->gpu() != nullptr) return not_applied_;
  const int entry = not_applied_entry_;
  const absl::StatusOr<ValueId> first =
      OrExhausted("a diagnosis", [&]() -> absl::StatusOr<ValueId> { return FirstNonFinite(entry); });
  RETURN_IF_ERROR(first.status());
  if (*first == kNoValue) return not_applied_;
  return OutOfRange("{}; the first value that is not finite is {}", std::string(not_applied_.message()),
                    Described(program_.entries[entry].graph.value(*first).name));
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
  RETURN_IF_ERROR(StartAll(executors, 0));
  RETURN_IF_ERROR(WaitForAll(executors));
  ValueId first = kNoValue;
  const auto take = [&](ValueId value) {
    if (value != kNoValue && (first == kNoValue || value < first)) first = value;
  };
  for (const auto& diagnosis : diagnoses) take(diagnosis->FirstNonFinite());
  // As numbers from 0, where 0 is none.
  static_assert(kNoValue == -1);
  PackedValues packed;
  packed.Add(int64_t{first} + 1);
  constexpr MessageKind kKind = MessageKind::kFirstNonFinite;
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather({kKind, packed.bytes()}));
  const auto values = static_cast<int64_t>(program_.entries[entry].graph.values().size());
  for (size_t process = 0; process < all.size(); ++process) {
    PackedReader reader(kKind, process, all[process]);
    const int64_t value = reader.NextBelow(values + 1) - 1;
    RETURN_IF_ERROR(reader.Finish());
    take(static_cast<ValueId>(value));
  }
  return first;
}

void Session::RecordTimeline(bool on) {
  records_timeline_ = on;
  for (const int rank : local_ranks_) ranks_[rank]->SetRecording(on);
}

std::vector<LaunchSpan> Session::Timeline(std::string_view entry, int rank) const {
  if (ranks_[rank] == nullptr || !in_flight_.empty()) return {};
  const std::vector<Span> spans = ranks_[rank]->Spans(Place(entry));
  const double shift = static_cast<double>(started_[PlaceOfRank(rank)] - started_[0]) * SecondsPerCycle();
  const std::vector<Launch>& launches = schedule(entry, rank).launches;
  std::vector<LaunchSpan> timeline;
  for (size_t l = 0; l < std::min(spans.size(), launches.size()); ++l) {
    if (spans[l].end == 0) continue;
    timeline.push_back({&launches[l], spans[l].begin + shift, spans[l].end + shift});
  }
  return timeline;
}

void Session::Abort(const absl::Status& status) { backend_->world().Abort(status); }

std::vector<FlightRecord> Session::FlightRecords() const {
  std::vector<FlightRecord> records;
  const auto add = [&](const World& world) {
    if (const FlightRecorder* const recorder = world.recorder(); recorder != nullptr) {
      AddRecords(recorder->Read(), records);
    }
  };
  add(backend_->world());
  // Ranks on GPUs meet there in steps, and between steps in the job's.
  if (options_.job != nullptr && &options_.job->world() != &backend_->world()) add(options_.job->world());
  return records;
}

}  // namespace partita
