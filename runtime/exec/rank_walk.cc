#include "runtime/exec/rank_walk.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/exec/collective_launch.h"
#include "runtime/exec/copy_kernel.h"

namespace partita {

RankWalk::RankWalk(const ExecutorRank& rank, int32_t tags_before)
    : rank_(rank), schedule_(*rank.schedule), tags_before_(tags_before), kernels_(schedule_.launches.size()) {
  for (const Launch& launch : schedule_.launches) {
    if (const auto* collective = std::get_if<CollectiveLaunch>(&launch.work)) groups_.insert(collective->group);
  }
}

absl::StatusOr<std::unique_ptr<RankWalk>> RankWalk::Create(const ExecutorRank& rank, int32_t tags_before) {
  const ExecutorBinding& binding = rank.binding;
  CHECK(binding.device != nullptr && binding.arena != nullptr && binding.kernels != nullptr);
  if (static_cast<int>(binding.streams.size()) < rank.schedule->streams) {
    return Internal("rank {}: the schedule has {} streams, the device gives {}", rank.schedule->rank,
                    rank.schedule->streams, binding.streams.size());
  }
  std::unique_ptr<RankWalk> walk(new RankWalk(rank, tags_before));
  if (binding.device->host_addressable()) {
    walk->own_words_.resize(rank.schedule->launches.size());
  } else {
    RETURN_IF_ERROR(walk->AllocateWords());
  }
  walk->PlanWaits();
  RETURN_IF_ERROR(walk->PlanWatches());
  return walk;
}

absl::Status RankWalk::AllocateWords() {
  ASSIGN_OR_RETURN(words_, device().Allocate(FaultBytes() + static_cast<int64_t>(sizeof(uint64_t))));
  ASSIGN_OR_RETURN(faults_seen_, device().AllocateHost(turns() * FaultBytes()));
  return absl::OkStatus();
}

std::span<Stream* const> RankWalk::streams() const {
  return std::span(rank_.binding.streams).first(static_cast<size_t>(schedule_.streams));
}

bool RankWalk::OnDevice(int launch) const { return schedule_.launches[launch].stream != schedule_.host_stream(); }

void RankWalk::PlanWaits() {
  waits_.resize(schedule_.launches.size());
  events_.resize(schedule_.launches.size());
  waited_for_.resize(schedule_.launches.size());
  int last = -1;  // launch on a device stream
  for (int l = 0; l < launches(); ++l) {
    const Launch& launch = schedule_.launches[l];
    if (!OnDevice(l)) continue;
    // What the host did before the step is done when a step starts, and it ends after all launches have.
    for (int wait : launch.waits) {
      if (OnDevice(wait)) waits_[l].push_back(wait);
    }
    const bool serial = rank_.options.poison && last >= 0;
    if (serial && schedule_.launches[last].stream != launch.stream) waits_[l].push_back(last);
    last = l;
    for (int wait : waits_[l]) waited_for_[wait] = true;
  }
}

absl::Status RankWalk::PlanWatches() {
  before_.resize(schedule_.launches.size());
  behind_.resize(schedule_.launches.size());
  for (ValueId value : rank_.options.observe) {
    if (value < 0 || value >= static_cast<ValueId>(schedule_.values.size())) {
      return Internal("rank {}: cannot observe value {} of {}", schedule_.rank, value, schedule_.values.size());
    }
    RETURN_IF_ERROR(AddWatch(Watch::Kind::kCopy, value));
  }
  if (rank_.options.check_finite) {
    for (ValueId value = 0; value < static_cast<ValueId>(schedule_.values.size()); ++value) {
      if (IsFloating(schedule_.values[value].tensor.dtype)) RETURN_IF_ERROR(AddWatch(Watch::Kind::kFinite, value));
    }
  }
  if (rank_.options.poison) AddPoison();
  return absl::OkStatus();
}

absl::Status RankWalk::AddWatch(Watch::Kind kind, ValueId value) {
  const ValuePlacement& placement = schedule_.values[value];
  if (placement.offset < 0) return absl::OkStatus();
  Watched& watched = watched_.emplace_back();
  watched.value = value;
  watched.watch.kind = kind;
  watched.watch.dtype = placement.tensor.dtype;
  watched.watch.data = static_cast<char*>(rank_.binding.arena) + placement.offset;
  watched.watch.bytes = placement.tensor.bytes();
  if (kind == Watch::Kind::kCopy) {
    ASSIGN_OR_RETURN(watched.watch.copy, device().AllocateHost(watched.watch.bytes));
    observed_[value] = &watched.watch;
  }
  const bool staged = placement.launch < 0 || !OnDevice(placement.launch);
  watched.launch = staged ? -1 : placement.launch;
  if (staged) {
    at_start_.push_back(&watched);
  } else {
    behind_[placement.launch].push_back(&watched.watch);
  }
  return absl::OkStatus();
}

void RankWalk::AddPoison() {
  for (const Lifetime& lifetime : schedule_.lifetimes) {
    if (lifetime.persistent) continue;
    Watch& poison = poison_.emplace_back();
    poison.kind = Watch::Kind::kPoison;
    poison.data = static_cast<char*>(rank_.binding.arena) + lifetime.range.offset;
    poison.bytes = lifetime.range.bytes;
    if (OnDevice(lifetime.first)) before_[lifetime.first].push_back(&poison);
    if (OnDevice(lifetime.last)) behind_[lifetime.last].push_back(&poison);
  }
}

absl::Status RankWalk::Record(Stream& stream, std::unique_ptr<Event>& event) {
  if (event == nullptr) {
    ASSIGN_OR_RETURN(event, device().CreateEvent());
  }
  return stream.Record(*event);
}

// All other streams go on when `stream` has come here.
absl::Status RankWalk::AllWaitFor(Stream& stream) {
  RETURN_IF_ERROR(Record(stream, border_));
  for (Stream* other : streams()) {
    if (other != &stream) RETURN_IF_ERROR(other->Wait(*border_));
  }
  return absl::OkStatus();
}

// Steps follow each other at once where the host is out of sight: all of one is behind all of the one before.
absl::Status RankWalk::Begin(int turn) {
  next_ = 0;
  if (OnHostAtStart()) return absl::OkStatus();
  Stream& first = *rank_.binding.streams[0];
  if (!rank_.binding.at_start.empty()) {
    for (const ByteCopy& input : rank_.binding.at_start[turn]) {
      RETURN_IF_ERROR(first.Copy(input.to, input.from, input.bytes));
    }
  }
  for (Watched* watched : at_start_) RETURN_IF_ERROR(watched->watch.Enqueue(first));
  return AllWaitFor(first);
}

absl::Status RankWalk::End(int turn) {
  if (OnHostAtStart()) return absl::OkStatus();
  Stream& first = *rank_.binding.streams[0];
  for (Stream* other : streams()) {
    if (other == &first) continue;
    RETURN_IF_ERROR(Record(*other, border_));
    RETURN_IF_ERROR(first.Wait(*border_));
  }
  if (!rank_.binding.at_end.empty()) {
    for (const ByteCopy& copy : rank_.binding.at_end[turn]) {
      RETURN_IF_ERROR(first.Copy(copy.to, copy.from, copy.bytes));
    }
  }
  return first.Copy(FaultsSeen(turn), Words(), FaultBytes());
}

int RankWalk::NextGroup() const {
  if (done()) return -1;
  const auto* const collective = std::get_if<CollectiveLaunch>(&schedule_.launches[next_].work);
  return collective == nullptr ? -1 : collective->group;
}

absl::Status RankWalk::Advance() {
  const bool collective = NextGroup() >= 0;
  const int launch = next_++;
  if (!OnDevice(launch)) return absl::OkStatus();
  RETURN_IF_ERROR(Enqueue(launch));
  return collective ? absl::OkStatus() : EnqueueBehind(launch);
}

absl::Status RankWalk::FinishCollective() { return EnqueueBehind(next_ - 1); }

absl::Status RankWalk::Enqueue(int l) {
  const Launch& launch = schedule_.launches[l];
  Stream& stream = *rank_.binding.streams[launch.stream];
  for (int before : waits_[l]) RETURN_IF_ERROR(stream.Wait(*events_[before]));
  for (Watch* watch : before_[l]) RETURN_IF_ERROR(watch->Enqueue(stream));
  stream.Tag(tags_before_ + l, launch.name);
  const absl::Status enqueued = EnqueueWork(l, stream);
  if (!enqueued.ok()) stream.Tag(-1);
  return WithContext(fmt::format("node '{}'", launch.name), enqueued);
}

// A collective's tag stays until here: the last member's call may enqueue work on the streams of all members.
absl::Status RankWalk::EnqueueBehind(int l) {
  Stream& stream = *rank_.binding.streams[schedule_.launches[l].stream];
  stream.Tag(-1);
  for (Watch* watch : behind_[l]) RETURN_IF_ERROR(watch->Enqueue(stream));
  return waited_for_[l] ? Record(stream, events_[l]) : absl::OkStatus();
}

absl::Status RankWalk::EnqueueWork(int l, Stream& stream) {
  const Launch& launch = schedule_.launches[l];
  const ExecutorBinding& binding = rank_.binding;
  if (const auto* collective = std::get_if<CollectiveLaunch>(&launch.work)) {
    const auto group = static_cast<size_t>(collective->group);
    if (group >= binding.communicators.size() || binding.communicators[group] == nullptr) {
      return Internal("there is no communicator of group {}", group);
    }
    return EnqueueCollective(*collective, binding.arena, *binding.communicators[group], stream);
  }
  if (kernels_[l] == nullptr) {
    if (std::holds_alternative<KernelLaunch>(launch.work)) {
      ASSIGN_OR_RETURN(kernels_[l], MakeKernel(l));
    } else {
      kernels_[l] = std::make_unique<CopyKernel>(std::get<CopyLaunch>(launch.work), binding.arena);
    }
  }
  return kernels_[l]->Launch(stream);
}

absl::StatusOr<std::unique_ptr<Kernel>> RankWalk::MakeKernel(int l) {
  const auto& launch = std::get<KernelLaunch>(schedule_.launches[l].work);
  char* const base = static_cast<char*>(rank_.binding.arena);
  const auto address = [base](int64_t offset) -> void* { return offset < 0 ? nullptr : base + offset; };
  KernelArguments arguments;
  for (int64_t input : launch.inputs) arguments.inputs.push_back(address(input));
  for (int64_t output : launch.outputs) arguments.outputs.push_back(address(output));
  arguments.workspace = address(launch.workspace);
  arguments.seed = rank_.binding.seed;
  arguments.fault = Words() + l;
  if (words_ != nullptr) arguments.refused = Words() + launches();
  return rank_.binding.kernels->Create(launch.node, launch.choice, std::move(arguments));
}

void RankWalk::RunAtStart() {
  if (!OnHostAtStart()) return;
  for (Watched* watched : at_start_) watched->watch.Run();
}

absl::Status RankWalk::FirstFault(int turn) {
  for (int l = 0; l < launches(); ++l) {
    const uint64_t word = FaultsSeen(turn)[l];
    if (word == 0) continue;
    const std::string where = fmt::format("rank {}: node '{}'", schedule_.rank, schedule_.launches[l].name);
    return WithContext(where, kernels_[l]->Fault(word));
  }
  return absl::OkStatus();
}

absl::Status RankWalk::ClearWords() {
  std::ranges::fill(own_words_, 0);
  if (words_ == nullptr) return absl::OkStatus();
  Stream& first = *rank_.binding.streams[0];
  RETURN_IF_ERROR(first.Zero(Words(), words_->bytes()));
  return first.Synchronize();
}

const void* RankWalk::Observed(ValueId value) const {
  const auto found = observed_.find(value);
  return found == observed_.end() ? nullptr : found->second->copy->data();
}

ValueId RankWalk::FirstNonFinite() const {
  const Watched* first = nullptr;
  for (const Watched& watched : watched_) {
    if (watched.watch.kind != Watch::Kind::kFinite || watched.watch.finite) continue;
    if (first == nullptr || watched.launch < first->launch) first = &watched;
  }
  return first == nullptr ? kNoValue : first->value;
}

}  // namespace partita
