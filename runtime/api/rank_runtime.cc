#include "runtime/api/rank_runtime.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "ops/initializer.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Behind the end of every arena, looked at after every step.
constexpr int64_t kEndGuardBytes = 256;

HostDeviceOptions DeviceOptions(const RankParts& parts, const SessionOptions& options) {
  HostDeviceOptions device;
  device.threads = options.threads_per_rank;
  // Ranks must not be delayed alike.
  if (options.delay_seed) device.delay_seed = *options.delay_seed * 1000003 + static_cast<uint64_t>(parts.rank);
  device.on_failure = parts.on_failure;
  return device;
}

// What a step of `schedule` begins with: the bytes of states and inputs.
template <typename Visit>
void VisitBeginning(const Schedule& schedule, const Visit& visit) {
  for (const auto* placements : {&schedule.states, &schedule.inputs}) {
    for (const Placement& placement : *placements) {
      if (placement.offset >= 0) visit(placement.offset, placement.tensor.bytes());
    }
  }
}

}  // namespace

RankRuntime::RankRuntime(RankParts parts, const SessionOptions& options)
    : rank_(parts.rank),
      train_(*parts.train),
      evaluate_(*parts.evaluate),
      program_(parts.program),
      kernels_(parts.kernels),
      world_(parts.world),
      seed_(options.seed),
      device_(DeviceOptions(parts, options), fmt::format("rank {}", parts.rank)) {}

RankRuntime::~RankRuntime() = default;

absl::StatusOr<std::unique_ptr<RankRuntime>> RankRuntime::Create(RankParts parts, const SessionOptions& options) {
  const int rank = parts.rank;
  std::unique_ptr<RankRuntime> runtime(new RankRuntime(std::move(parts), options));
  RETURN_IF_ERROR(WithContext(fmt::format("rank {}", rank), runtime->Build(options)));
  return runtime;
}

absl::Status RankRuntime::Build(const SessionOptions& options) {
  const int64_t bytes = std::max(train_.memory.total, evaluate_.memory.total);
  ASSIGN_OR_RETURN(arena_, device_.Allocate(bytes + kEndGuardBytes));
  memory_check_ =
      std::make_unique<MemoryCheck>(std::vector<const Schedule*>{&train_, &evaluate_}, arena_->data(), kEndGuardBytes);
  memory_check_->Paint();
  RETURN_IF_ERROR(InitializeStates(options.seed));
  RETURN_IF_ERROR(CreateCommunicators());
  for (int s = 0; s < std::max(train_.streams, evaluate_.streams); ++s) {
    ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device_.CreateStream(fmt::format("rank {} stream {}", rank_, s)));
    streams_.push_back(std::move(stream));
  }
  ExecutorOptions train;
  train.poison = options.poison;
  if (options.observe) {
    train.observe.resize(train_.values.size());
    std::iota(train.observe.begin(), train.observe.end(), 0);
  }
  ExecutorOptions evaluate;
  evaluate.poison = options.poison;
  ASSIGN_OR_RETURN(train_executor_, Executor::Create(train_, Binding(options.seed), std::move(train)));
  ASSIGN_OR_RETURN(evaluate_executor_, Executor::Create(evaluate_, Binding(options.seed), std::move(evaluate)));
  SetRecording(options.record_timeline);
  return absl::OkStatus();
}

absl::Status RankRuntime::InitializeStates(uint64_t seed) {
  for (const Placement& placement : train_.states) {
    if (placement.offset < 0) continue;
    const ValueId value = program_->train.Find(placement.name);
    CHECK(value != kNoValue);
    const Node& node = program_->train.node(program_->train.value(value).producer);
    RETURN_IF_ERROR(WithContext(fmt::format("node '{}'", placement.name),
                                Initialize(node.attributes, placement.tensor.dtype, placement.tensor.global,
                                           placement.tensor.box, seed, placement.name, PartOf(placement).data)));
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

ExecutorBinding RankRuntime::Binding(uint64_t seed) const {
  ExecutorBinding binding;
  binding.device = const_cast<HostDevice*>(&device_);
  for (const auto& stream : streams_) binding.streams.push_back(stream.get());
  binding.arena = arena_->data();
  binding.kernels = kernels_;
  for (const auto& communicator : communicators_) binding.communicators.push_back(communicator.get());
  binding.seed = seed;
  return binding;
}

HeldPart RankRuntime::PartOf(const Placement& placement) const {
  char* const data = placement.offset < 0 ? nullptr : static_cast<char*>(arena_->data()) + placement.offset;
  return {placement.tensor, data};
}

HeldPart RankRuntime::ObservedPart(ValueId value) const {
  return {train_.values[value].tensor, const_cast<void*>(train_executor_->Observed(value))};
}

void RankRuntime::TakeSnapshot() {
  const char* const base = static_cast<const char*>(arena_->data());
  size_t size = 0;
  VisitBeginning(train_, [&](int64_t, int64_t bytes) { size += static_cast<size_t>(bytes); });
  snapshot_.resize(size);
  char* next = snapshot_.data();
  VisitBeginning(train_, [&](int64_t offset, int64_t bytes) {
    std::memcpy(next, base + offset, static_cast<size_t>(bytes));
    next += bytes;
  });
}

void RankRuntime::RestoreSnapshot() {
  char* const base = static_cast<char*>(arena_->data());
  const char* next = snapshot_.data();
  VisitBeginning(train_, [&](int64_t offset, int64_t bytes) {
    std::memcpy(base + offset, next, static_cast<size_t>(bytes));
    next += bytes;
  });
}

absl::StatusOr<std::unique_ptr<Executor>> RankRuntime::MakeDiagnosis() {
  ExecutorOptions options;
  options.check_finite = true;
  return Executor::Create(train_, Binding(seed_), std::move(options));
}

void RankRuntime::SetRecording(bool on) {
  train_executor_->SetRecording(on ? &train_spans_ : nullptr);
  evaluate_executor_->SetRecording(on ? &evaluate_spans_ : nullptr);
}

}  // namespace partita
