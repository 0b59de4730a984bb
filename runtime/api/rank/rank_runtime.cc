#include "runtime/api/rank/rank_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <variant>

#include "graph/ir/generated_name.h"
#include "runtime/api/rank/initial_values.h"
#include "runtime/base/bf16.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/device/host/cores.h"
#include "runtime/device/host/host_stream.h"
#include "runtime/device/host/kernel_team.h"

namespace partita {
namespace {

// Behind the end of every arena, looked at after every step.
constexpr int64_t kEndGuardBytes = 256;

// Ranks that share cores stay on theirs: where the system moves them about, two often wait for one core while another
// one is idle, and all the others for these two (docs/design.md 6.3). Empty: there are cores for all.
std::vector<int> CoresOf(const RankParts& parts, int threads) {
  const std::vector<int> all = AllowedCores();
  if (all.empty() || static_cast<size_t>(parts.places) * threads <= all.size()) return {};
  return ShareOf(all, parts.place, parts.places);
}

HostDeviceOptions OwnDeviceOptions(const RankParts& parts, const SessionOptions& options) {
  HostDeviceOptions device;
  device.shares_arenas = options.job != nullptr;
  device.threads = options.threads_per_rank;
  device.cores = CoresOf(parts, options.threads_per_rank);
  // Ranks must not be delayed alike.
  if (options.tests.delay_seed)
    device.delay.seed = *options.tests.delay_seed * 1000003 + static_cast<uint64_t>(parts.rank);
  device.on_failure = parts.on_failure;
  return device;
}

// The last stream carries the collectives, which others wait for; the first, most of the longest path of the step.
StreamPriority PriorityOf(int stream, int streams) {
  if (stream + 1 == streams) return StreamPriority::kHigh;
  return stream == 0 ? StreamPriority::kRaised : StreamPriority::kNormal;
}

// What the host writes before steps.
std::vector<ByteRange> InputRanges(const std::vector<const Schedule*>& schedules) {
  std::vector<ByteRange> ranges;
  for (const Schedule* schedule : schedules) {
    for (const Placement& input : schedule->inputs) {
      if (input.offset >= 0) ranges.push_back({input.offset, input.tensor.bytes()});
    }
  }
  return ranges;
}

// The most bytes that a rank holds of one state.
int64_t LargestState(const Schedule& schedule) {
  int64_t largest = 0;
  for (const Placement& state : schedule.states) {
    if (state.offset >= 0) largest = std::max(largest, state.tensor.bytes());
  }
  return largest;
}

// Starts the threads of every host stream that runs kernels. A limit on threads then ends the start of the session: in
// the middle of a step, it would take all ranks along.
absl::Status StartKernelTeams(const std::vector<const Schedule*>& schedules,
                              const std::vector<std::unique_ptr<Stream>>& streams) {
  std::vector<HostStream*> computing(streams.size());
  for (const Schedule* schedule : schedules) {
    for (const Launch& launch : schedule->launches) {
      if (launch.stream == schedule->host_stream() || !std::holds_alternative<KernelLaunch>(launch.work)) continue;
      computing[launch.stream] = dynamic_cast<HostStream*>(streams[launch.stream].get());
    }
  }
  for (HostStream* stream : computing) {
    if (stream == nullptr) continue;
    RETURN_IF_ERROR(stream->Enqueue({[](void*) { return StartKernelTeam(); }, nullptr}));
    RETURN_IF_ERROR(WithContext(fmt::format("stream '{}'", stream->name()), stream->Synchronize()));
  }
  return absl::OkStatus();
}

}  // namespace

RankRuntime::RankRuntime(RankParts parts, const SessionOptions& options)
    : rank_(parts.rank),
      places_(parts.places),
      schedules_(std::move(parts.schedules)),
      program_(parts.program),
      kernels_(parts.kernels),
      world_(parts.world),
      seed_(options.seed),
      own_device_(parts.device != nullptr ? nullptr
                                          : std::make_unique<HostDevice>(OwnDeviceOptions(parts, options),
                                                                         fmt::format("rank {}", parts.rank))),
      device_(parts.device != nullptr ? parts.device : own_device_.get()) {}

RankRuntime::~RankRuntime() = default;

absl::StatusOr<std::unique_ptr<RankRuntime>> RankRuntime::Create(RankParts parts, const SessionOptions& options) {
  const int rank = parts.rank;
  std::unique_ptr<RankRuntime> runtime(new RankRuntime(std::move(parts), options));
  RETURN_IF_ERROR(WithContext(fmt::format("rank {}", rank), runtime->Build(options)));
  return runtime;
}

absl::Status RankRuntime::Build(const SessionOptions& options) {
  int64_t bytes = 0;
  int streams = 0;
  for (const Schedule* schedule : schedules_) {
    bytes = std::max(bytes, schedule->memory.total);
    streams = std::max(streams, schedule->streams);
  }
  ASSIGN_OR_RETURN(arena_, device_->Allocate(bytes + kEndGuardBytes));
  ASSIGN_OR_RETURN(reach_, HostReach::Create(*device_, arena_->data(), InputRanges(schedules_)));
  if (device_->host_addressable()) {
    memory_check_ = std::make_unique<MemoryCheck>(schedules_, arena_->data(), kEndGuardBytes);
    memory_check_->Paint();
  }
  for (int s = 0; s < streams; ++s) {
    ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream,
                     device_->CreateStream(fmt::format("rank {} stream {}", rank_, s), PriorityOf(s, streams)));
    streams_.push_back(std::move(stream));
  }
  RETURN_IF_ERROR(StartKernelTeams(schedules_, streams_));
  if (!device_->host_addressable()) {
    ASSIGN_OR_RETURN(transfer_, HostTransfer::Create(*device_, *streams_[0], LargestState(*schedules_.front())));
    for (const Schedule* schedule : schedules_) {
      ASSIGN_OR_RETURN(std::unique_ptr<InputStage> stage, MakeStage(*schedule));
      inputs_.push_back(std::move(stage));
      ASSIGN_OR_RETURN(std::unique_ptr<ResultPlaces> places,
                       ResultPlaces::Create(*device_, arena_->data(), schedule->results, InputStage::kTurns));
      results_.push_back(std::move(places));
    }
  }
  RETURN_IF_ERROR(InitializeStates(options.seed, places_ * int64_t{options.threads_per_rank}));
  return CreateCommunicators();
}

absl::StatusOr<std::unique_ptr<InputStage>> RankRuntime::MakeStage(const Schedule& schedule) const {
  std::vector<ByteCopy> inputs;
  for (const Placement& input : schedule.inputs) {
    if (input.offset >= 0) inputs.push_back({InArena(input), reach_->At(input.offset), input.tensor.bytes()});
  }
  return InputStage::Create(*device_, fmt::format("rank {} inputs", rank_), std::move(inputs));
}

int64_t RankRuntime::StageBytes(const Schedule& schedule) {
  std::vector<int64_t> inputs;
  for (const Placement& input : schedule.inputs) {
    if (input.offset >= 0) inputs.push_back(input.tensor.bytes());
  }
  return InputStage::BytesFor(inputs);
}

int64_t RankRuntime::CopiedBytes(const Schedule& training, const SessionOptions& options) {
  if (!options.tests.observe) return 0;
  int64_t bytes = 0;
  for (const ValuePlacement& value : training.values) {
    if (value.offset >= 0) bytes += value.tensor.bytes();
  }
  return bytes;
}

absl::Status RankRuntime::WaitUntilInputsSent(int entry) {
  return stage(entry) == nullptr ? absl::OkStatus() : stage(entry)->WaitUntilSent();
}

absl::StatusOr<int> RankRuntime::TakeInputs(int entry) {
  if (stage(entry) == nullptr) return 0;
  return stage(entry)->Take(*streams_[0]);
}

ExecutorRank RankRuntime::MemberOf(int entry, const SessionOptions& options) const {
  ExecutorRank member;
  member.schedule = &schedule(entry);
  member.binding = BindingOf(entry);
  member.options.poison = options.tests.poison;
  member.options.replay = options.device.replay;
  if (options.tests.observe && program_->entries[entry].name == kTrainEntry) {
    member.options.observe.resize(member.schedule->values.size());
    std::iota(member.options.observe.begin(), member.options.observe.end(), 0);
  }
  return member;
}

absl::Status RankRuntime::Capture(std::span<RankRuntime* const> ranks, const SessionOptions& options) {
  const std::string context =
      ranks.size() == 1 ? fmt::format("rank {}", ranks[0]->rank_) : fmt::format("{} ranks of one device", ranks.size());
  for (size_t entry = 0; entry < ranks[0]->schedules_.size(); ++entry) {
    std::vector<ExecutorRank> members;
    for (const RankRuntime* rank : ranks) members.push_back(rank->MemberOf(static_cast<int>(entry), options));
    auto executor = Executor::CreateTogether(members);
    RETURN_IF_ERROR(WithContext(context, executor.status()));
    const std::shared_ptr<Executor> shared = *std::move(executor);
    for (RankRuntime* rank : ranks) rank->executors_.push_back(shared);
  }
  for (size_t place = 0; place < ranks.size(); ++place) ranks[place]->place_ = static_cast<int>(place);
  ranks[0]->SetRecording(options.record_timeline);
  return absl::OkStatus();
}

absl::Status RankRuntime::InitializeStates(uint64_t seed, int64_t threads) {
  const Graph& graph = program_->state_graph();
  for (size_t s = 0; s < graph.states().size(); ++s) {
    const Placement& placement = schedules_.front()->states[s];
    if (placement.offset < 0) continue;
    const Node& node = graph.node(graph.value(graph.states()[s].value).producer);
    ASSIGN_OR_RETURN(const HeldTensor drawn, NewBytes(placement));
    RETURN_IF_ERROR(WithContext(fmt::format("node '{}'", placement.name),
                                DrawInitialValues(node.attributes, placement.tensor, seed,
                                                  DrawnAs(node.attributes, placement.name), threads, drawn.data)));
    RETURN_IF_ERROR(Store(placement, drawn));
  }
  return absl::OkStatus();
}

absl::Status RankRuntime::CreateCommunicators() {
  communicators_.resize(program_->groups.size());
  for (size_t group = 0; group < communicators_.size(); ++group) {
    const std::vector<int>& ranks = program_->groups[group].ranks;
    if (std::find(ranks.begin(), ranks.end(), rank_) == ranks.end()) continue;
    ASSIGN_OR_RETURN(communicators_[group], world_->CreateCommunicator(static_cast<int>(group), ranks, rank_));
  }
  return absl::OkStatus();
}

std::vector<Stream*> RankRuntime::streams() const {
  std::vector<Stream*> all;
  for (const auto& stream : streams_) all.push_back(stream.get());
  return all;
}

ExecutorBinding RankRuntime::Binding() const {
  ExecutorBinding binding;
  binding.device = device_;
  binding.streams = streams();
  binding.arena = arena_->data();
  binding.kernels = kernels_;
  for (const auto& communicator : communicators_) binding.communicators.push_back(communicator.get());
  binding.seed = seed_;
  return binding;
}

ExecutorBinding RankRuntime::BindingOf(int entry) const {
  ExecutorBinding binding = Binding();
  if (stage(entry) == nullptr) return binding;
  for (int turn = 0; turn < InputStage::kTurns; ++turn) {
    binding.at_start.push_back(stage(entry)->IntoArena(turn));
    binding.at_end.push_back(results_[entry]->FromArena(turn));
  }
  return binding;
}

absl::StatusOr<HeldTensor> RankRuntime::Fetch(const Placement& state) const {
  ASSIGN_OR_RETURN(HeldTensor copy, NewBytes(state));
  if (copy.memory != nullptr) {
    RETURN_IF_ERROR(transfer_->Fetch(copy.data, InArena(state), state.tensor.bytes()));
  }
  return copy;
}

absl::StatusOr<HeldTensor> RankRuntime::NewBytes(const Placement& state) const {
  if (state.offset < 0) return HeldTensor{state.tensor};
  if (transfer_ == nullptr) return PartOf(state);
  const auto bytes = static_cast<size_t>(std::max<int64_t>(1, state.tensor.bytes()));
  const std::shared_ptr<void> memory(std::calloc(1, bytes), std::free);
  if (memory == nullptr) {
    return ResourceExhausted("the host has no memory for a copy of state '{}', which is {} bytes", state.name,
                             state.tensor.bytes());
  }
  return HeldTensor{state.tensor, memory.get(), memory};
}

absl::Status RankRuntime::Store(const Placement& state, const HeldTensor& bytes) const {
  if (state.offset < 0) return absl::OkStatus();
  for (const RoundedState& rounded : schedules_.front()->rounded) {
    const Placement& wide = schedules_.front()->states[static_cast<size_t>(rounded.state)];
    if (wide.offset == state.offset) RETURN_IF_ERROR(StoreRounded(bytes, rounded.placement));
  }
  return transfer_ == nullptr ? absl::OkStatus() : transfer_->Send(InArena(state), bytes.data, state.tensor.bytes());
}

absl::Status RankRuntime::StoreRounded(const HeldTensor& bytes, const Placement& rounded) const {
  const auto round = [&](char* to, int64_t begin, int64_t count) {
    constexpr int64_t kSize = sizeof(Bf16);
    const auto* const wide = static_cast<const float*>(bytes.data) + begin / kSize;
    auto* const narrow = reinterpret_cast<Bf16*>(to);
    for (int64_t i = 0; i < count / kSize; ++i) narrow[i] = Bf16(wide[i]);
  };
  if (transfer_ != nullptr) return transfer_->Send(InArena(rounded), rounded.tensor.bytes(), round);
  round(InArena(rounded), 0, rounded.tensor.bytes());
  return absl::OkStatus();
}

HeldTensor RankRuntime::PartOf(const LocalTensor& tensor, int64_t offset) const {
  return {tensor, offset < 0 ? nullptr : reach_->At(offset)};
}

HeldTensor RankRuntime::Result(int entry, size_t result, int turn) const {
  const Placement& placement = schedule(entry).results[result];
  if (results_.empty()) return PartOf(placement);
  return {placement.tensor, results_[entry]->At(result, turn)};
}

absl::Status RankRuntime::CheckGuards(bool guard_only) const {
  return memory_check_ == nullptr ? absl::OkStatus() : memory_check_->CheckGuards(guard_only);
}

int64_t RankRuntime::UsedMemory() const {
  if (memory_check_ != nullptr) return memory_check_->HighestTouched();
  int64_t planned = 0;
  for (const Schedule* schedule : schedules_) planned = std::max(planned, schedule->memory.total);
  return planned;
}

HeldTensor RankRuntime::ObservedPart(int entry, ValueId value) const {
  return {schedule(entry).values[value].tensor, const_cast<void*>(executors_[entry]->Observed(value, place_))};
}

absl::StatusOr<std::unique_ptr<Executor>> RankRuntime::MakeDiagnosis(int entry) {
  ExecutorOptions options;
  options.check_finite = true;
  return Executor::Create(schedule(entry), Binding(), std::move(options));
}

void RankRuntime::SetRecording(bool on) {
  for (const auto& executor : executors_) executor->SetRecording(on);
}

std::vector<Span> RankRuntime::Spans(int entry) const { return executors_[entry]->Spans(place_); }

}  // namespace partita
