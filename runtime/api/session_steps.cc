// The steps of a session: inputs in, results out, one in flight behind the other, and what to say if they are not
// finite, or not applied.
#include <cmath>
#include <cstring>

#include "graph/make_program.h"
#include "runtime/api/job/job.h"
#include "runtime/api/rank/input_stage.h"
#include "runtime/api/rank/stall_watch.h"
#include "runtime/api/session.h"
#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/device/cycle_clock.h"

namespace partita {
namespace {

// As a device has places for (runtime/api/rank).
constexpr size_t kMostInFlight = InputStage::kTurns;

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

template <typename T>
bool HoldsNan(const HeldTensor& part) {
  const std::span values(static_cast<const T*>(part.data), static_cast<size_t>(part.tensor.elements()));
  return std::ranges::any_of(values, [](T value) { return std::isnan(value); });
}

bool HasNan(const HeldTensor& part) {
  if (part.data == nullptr) return false;
  return part.tensor.dtype == DType::kF64 ? HoldsNan<double>(part)
                                          : part.tensor.dtype == DType::kF32 && HoldsNan<float>(part);
}

HostTensor Copied(const HeldTensor& part) {
  const char* const bytes = static_cast<const char*>(part.data);
  return {part.tensor.dtype, part.tensor.global, {bytes, bytes + part.tensor.bytes()}};
}

}  // namespace

absl::StatusOr<StepResult> Session::Train() {
  RETURN_IF_ERROR(BeginAlone(train_));
  return Finish();
}

absl::StatusOr<StepResult> Session::Evaluate() {
  RETURN_IF_ERROR(BeginAlone(evaluate_));
  ASSIGN_OR_RETURN(const StepResult result, Finish());
  const EntryPoint& point = program_.entries[*evaluate_];
  for (size_t loss = 0; loss <= point.graph.further_losses.size(); ++loss) {
    const double value = loss == 0 ? result.loss : result.metrics[loss - 1].second;
    if (std::isfinite(value)) continue;
    return OutOfRange("evaluation: node '{}': the loss is {}", point.results[loss].name, value);
  }
  return result;
}

absl::StatusOr<std::vector<HostTensor>> Session::Predict() {
  RETURN_IF_ERROR(BeginAlone(predict_));
  return FinishPrediction();
}

absl::StatusOr<std::vector<HostTensor>> Session::Compute(std::string_view entry) {
  const absl::StatusOr<int> place = program_.PlaceOf(entry);
  if (place.ok() && !IsPrediction(*place)) {
    return InvalidArgument("entry point '{}' has no results to be computed", std::string(entry));
  }
  RETURN_IF_ERROR(BeginAlone(place));
  return FinishPrediction();
}

absl::Status Session::CheckIdle(const char* what) const {
  if (in_flight_.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("{}: a step of '{}' is in flight; Finish it first", what,
                                                   program_.entries[in_flight_.front().entry].name));
}

// With the inputs that lie in their places.
absl::Status Session::BeginAlone(const absl::StatusOr<int>& entry) {
  RETURN_IF_ERROR(entry.status());
  RETURN_IF_ERROR(dead_);
  RETURN_IF_ERROR(CheckIdle("step"));
  return DieIfExhausted(OrExhausted("a step", [&] { return BeginStep(*entry, nullptr); }));
}

absl::Status Session::Begin(std::string_view entry, const InputFiller& fill) {
  ASSIGN_OR_RETURN(const int place, program_.PlaceOf(entry));
  RETURN_IF_ERROR(dead_);
  if (in_flight_.size() == kMostInFlight) {
    return absl::FailedPreconditionError(fmt::format("begin: {} steps are in flight; Finish one first", kMostInFlight));
  }
  if (!in_flight_.empty() && !SameUse(in_flight_.front().entry, place)) return CheckIdle("begin");
  return DieIfExhausted(OrExhausted("a step", [&] { return BeginStep(place, fill); }));
}

bool Session::SameUse(int entry, int other) const {
  const bool computed = IsPrediction(entry) || IsPrediction(other);
  return entry == other || (!computed && IsTraining(entry) == IsTraining(other));
}

// The host's inputs and results lie in the arena, where a step has other things while it runs. So there it ends first,
// as it does everywhere where the next one is another program; if it was not applied none begins behind it, and Finish
// says why.
absl::Status Session::BeginStep(int entry, const InputFiller& fill) {
  if (!in_flight_.empty() && (backend_->gpu() == nullptr || in_flight_.front().entry != entry)) {
    if (!ended_) ended_ = EndOldest();
    if (!ended_->status.ok()) return absl::OkStatus();
  }
  if (const absl::Status filled = FillInputs(entry, fill); !filled.ok()) {
    Drain();
    return filled;
  }
  StepInFlight step{entry, 0, train_steps_};
  ASSIGN_OR_RETURN(step.kept, KeepStates(entry));
  if (IsTraining(step.entry)) step.number = ++train_steps_;
  const absl::StatusOr<int> turn = TakeInputs(entry);
  if (!turn.ok()) dead_ = turn.status();
  RETURN_IF_ERROR(dead_);
  step.turn = *turn;
  RETURN_IF_ERROR(StartAll(executors_[entry], step.turn));
  in_flight_.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Session::FillInputs(int entry, const InputFiller& fill) {
  if (!fill) return absl::OkStatus();
  for (const int rank : local_ranks_) {
    const StallWatch::Waiting waiting(stall_watch_.get(), rank);
    RETURN_IF_ERROR(ranks_[rank]->WaitUntilInputsSent(entry));
  }
  return fill();
}

// Ranks that share a device are in step with each other; those with devices of their own have one turn.
absl::StatusOr<int> Session::TakeInputs(int entry) {
  int turn = 0;
  for (const int rank : local_ranks_) {
    const StallWatch::Waiting waiting(stall_watch_.get(), rank);
    ASSIGN_OR_RETURN(turn, ranks_[rank]->TakeInputs(entry));
  }
  return turn;
}

// A stream's thread that stands still while it holds the lock of its queue lets no step begin.
absl::Status Session::StartAll(std::span<Executor* const> executors, int turn) {
  size_t started = 0;
  for (; started < executors.size() && dead_.ok(); ++started) {
    const StallWatch::Waiting waiting(stall_watch_.get(), local_ranks_[started]);
    started_[started] = ReadCycles();
    dead_ = executors[started]->Start(turn);
  }
  if (dead_.ok()) return absl::OkStatus();
  backend_->world().Abort(dead_);
  for (Executor* const executor : executors.first(started)) executor->Wait().IgnoreError();
  return dead_;
}

absl::Status Session::WaitForAll(std::span<Executor* const> executors) {
  absl::Status wrong_data;
  for (size_t i = 0; i < executors.size(); ++i) {
    const StallWatch::Waiting waiting(stall_watch_.get(), local_ranks_[i]);
    const absl::Status ended = executors[i]->Wait();
    absl::Status& first = executors[i]->wrong_data() ? wrong_data : dead_;
    if (first.ok()) first = ended;
  }
  for (size_t i = 0; i < local_ranks_.size() && dead_.ok(); ++i) {
    const int rank = local_ranks_[i];
    dead_ = WithContext(fmt::format("rank {}", rank),
                        ranks_[rank]->CheckGuards(/*guard_only=*/options_.tests.guard_bytes == 0));
  }
  return dead_.ok() ? wrong_data : dead_;
}

absl::StatusOr<StepResult> Session::Finish() {
  if (!in_flight_.empty() && IsPrediction(in_flight_.front().entry)) return CheckIdle("finish a step with a loss");
  ASSIGN_OR_RETURN(Outcome outcome, FinishStep());
  return std::move(outcome.result);
}

absl::StatusOr<std::vector<HostTensor>> Session::FinishPrediction() {
  if (!in_flight_.empty() && !IsPrediction(in_flight_.front().entry)) return CheckIdle("finish a prediction");
  ASSIGN_OR_RETURN(Outcome outcome, FinishStep());
  return std::move(outcome.predictions);
}

absl::StatusOr<Session::Outcome> Session::FinishStep() {
  RETURN_IF_ERROR(dead_);
  if (in_flight_.empty()) return absl::FailedPreconditionError("finish: no step is in flight");
  absl::StatusOr<Outcome> outcome = OrExhausted("a step", [&] { return TakeOldest(); });
  RETURN_IF_ERROR(DieIfExhausted(outcome.status()));
  votes_ = outcome->votes;
  return outcome;
}

// Behind a step that was not applied the device has applied none, and does so again from now on.
absl::StatusOr<Session::Outcome> Session::TakeOldest() {
  Outcome outcome = ended_ ? *std::move(ended_) : EndOldest();
  ended_.reset();
  const StepInFlight step = std::move(in_flight_.front());
  in_flight_.erase(in_flight_.begin());
  if (outcome.status.ok()) return outcome;
  if (IsTraining(step.entry)) train_steps_ = step.number;
  Drain();
  if (dead_.ok()) dead_ = PutBack(step);
  if (outcome.not_finite && dead_.ok()) outcome.status = WithWrongDataOfAll(outcome.status);
  if (dead_.ok() && IsTraining(step.entry)) not_applied_ = outcome.status;
  return outcome.status;
}

// States of the ranks here that steps of an entry point change without the gate that training has: what recurrent
// layers carry from one evaluation to the next.
std::vector<Session::CarriedState> Session::CarriedStates(int entry) const {
  std::vector<CarriedState> carried;
  const Graph& graph = program_.entries[entry].graph;
  for (size_t s = 0; s < graph.states().size() && !IsTraining(entry); ++s) {
    if (graph.states()[s].update == kNoValue) continue;
    const std::string& name = graph.value(graph.states()[s].value).name;
    for (const int rank : local_ranks_) carried.push_back({rank, FindState(name, rank)});
  }
  return carried;
}

absl::StatusOr<std::vector<std::string>> Session::KeepStates(int entry) const {
  std::vector<std::string> kept;
  for (const CarriedState& carried : CarriedStates(entry)) {
    ASSIGN_OR_RETURN(const HeldTensor part, ranks_[carried.rank]->Fetch(*carried.placement));
    kept.emplace_back(static_cast<const char*>(part.data), part.data == nullptr ? 0 : part.tensor.bytes());
  }
  return kept;
}

absl::Status Session::PutBack(const StepInFlight& step) {
  if (step.kept.empty()) return absl::OkStatus();
  const std::vector<CarriedState> states = CarriedStates(step.entry);
  for (size_t s = 0; s < states.size(); ++s) {
    const RankRuntime& rank = *ranks_[states[s].rank];
    ASSIGN_OR_RETURN(const HeldTensor part, rank.NewBytes(*states[s].placement));
    if (!step.kept[s].empty()) std::memcpy(part.data, step.kept[s].data(), step.kept[s].size());
    RETURN_IF_ERROR(rank.Store(*states[s].placement, part));
  }
  return absl::OkStatus();
}

// A rank that met wrong data made NaN of results, which are the same on all ranks: the others hear from it why.
absl::Status Session::WithWrongDataOfAll(const absl::Status& own) {
  if (options_.job == nullptr) return own;
  const bool wrong_data = absl::IsInvalidArgument(own);
  const std::string text = wrong_data ? std::string(own.message()) : "";
  const auto all = options_.job->AllGather({MessageKind::kWrongData, text});
  if (!all.ok()) dead_ = all.status();
  RETURN_IF_ERROR(dead_);
  for (const std::string& found : *all) {
    if (!found.empty()) return absl::InvalidArgumentError(found);
  }
  return own;
}

Session::Outcome Session::EndOldest() {
  const StepInFlight& step = in_flight_.front();
  Outcome outcome;
  const absl::Status ran = WaitForAll(executors_[step.entry]);
  outcome.status = dead_;
  if (dead_.ok()) {
    const absl::Status finite = CheckFinite(step);
    outcome.not_finite = !finite.ok();
    outcome.status = ran.ok() ? finite : WithContext(NameOf(step), ran);  // wrong data
    bool has_nan = false;
    for (size_t r = 0; r < program_.entries[step.entry].results.size() && !IsTraining(step.entry); ++r) {
      has_nan = has_nan || HasNan(ResultPart(step, r));
    }
    if (has_nan) outcome.status = WithWrongDataOfAll(outcome.status);
  }
  if (dead_.ok() && IsTraining(step.entry)) {
    not_applied_ = outcome.status;
    not_applied_entry_ = step.entry;
  }
  if (outcome.status.ok()) ReadResults(step, outcome);
  return outcome;
}

// All steps in flight end, and nobody asks for their results.
void Session::Drain() {
  for (const StepInFlight& step : in_flight_) {
    for (Executor* const executor : executors_[step.entry]) executor->Wait().IgnoreError();
  }
  in_flight_.clear();
  ended_.reset();
  for (const auto& executors : executors_) {
    for (Executor* const executor : executors) {
      const absl::Status cleared = executor->ClearWords();
      if (dead_.ok()) dead_ = cleared;
    }
  }
}

// Nobody knows how far a step came that ended for want of memory, and other ranks may wait for this one.
absl::Status Session::DieIfExhausted(const absl::Status& status) {
  if (absl::IsResourceExhausted(status) && dead_.ok()) {
    dead_ = status;
    backend_->world().Abort(dead_);
  }
  return status;
}

HeldTensor Session::ResultPart(const StepInFlight& step, size_t result) const {
  return ranks_[local_ranks_.front()]->Result(step.entry, result, step.turn);  // all ranks hold the results
}

std::string Session::NameOf(const StepInFlight& step) const {
  if (IsTraining(step.entry)) return fmt::format("step {}", step.number);
  const std::string& entry = program_.entries[step.entry].name;
  return IsUse(entry, kEvaluateEntry) ? "evaluation" : fmt::format("entry point '{}'", entry);
}

absl::Status Session::CheckFinite(const StepInFlight& step) const {
  const EntryPoint& point = program_.entries[step.entry];
  if (!IsTraining(step.entry) || point.graph.loss == kNoValue) return absl::OkStatus();
  const auto refused = [&](size_t result, const char* but) {
    return OutOfRange("{}: node '{}': the loss is {}{}", NameOf(step), point.results[result].name,
                      ScalarAt(ResultPart(step, result)), but);
  };
  for (size_t loss = 0; loss <= point.graph.further_losses.size(); ++loss) {
    if (!std::isfinite(ScalarAt(ResultPart(step, loss)))) return refused(loss, "");
  }
  if (point.graph.apply == kNoValue || Applied(ResultPart(step, point.results.size()))) return absl::OkStatus();
  return refused(0, ", but the norm of the gradients is not finite");
}

// As ReadByHost orders them.
void Session::ReadResults(const StepInFlight& step, Outcome& outcome) const {
  const EntryPoint& point = program_.entries[step.entry];
  const size_t losses = point.graph.loss == kNoValue ? 0 : 1, results = point.results.size();
  if (losses > 0) outcome.result.loss = ScalarAt(ResultPart(step, 0));
  for (size_t r = losses; r < results; ++r) {
    if (IsPrediction(step.entry)) {
      outcome.predictions.push_back(Copied(ResultPart(step, r)));
    } else if (point.results[r].name == kGradientSquaresName) {
      outcome.result.gradient_norm = std::sqrt(ScalarAt(ResultPart(step, r)));
    } else if (!point.graph.type(point.results[r].value).shape.empty()) {
      outcome.result.values.push_back(Copied(ResultPart(step, r)));
    } else {
      outcome.result.metrics.emplace_back(point.results[r].name, ScalarAt(ResultPart(step, r)));
    }
  }
  const size_t sum = results + (point.graph.apply == kNoValue ? 0 : 1);
  if (point.graph.votes.counted()) outcome.votes = ScalarAt(ResultPart(step, sum));
}

}  // namespace partita
