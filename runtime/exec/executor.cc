#include "runtime/exec/executor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/exec/collective_launch.h"
#include "runtime/exec/copy_kernel.h"

namespace partita {
namespace {

absl::Status CheckBinding(const Schedule& schedule, const ExecutorBinding& binding) {
  CHECK(binding.device != nullptr && binding.arena != nullptr && binding.kernels != nullptr);
  if (static_cast<int>(binding.streams.size()) < schedule.streams) {
    return Internal("rank {}: the schedule has {} streams, the device gives {}", schedule.rank, schedule.streams,
                    binding.streams.size());
  }
  return absl::OkStatus();
}

// The events of a capture: one for each launch that another stream waits for.
class Events {
 public:
  Events(const Schedule& schedule, bool serial, Device& device)
      : schedule_(schedule), device_(device), waits_(schedule.launches.size()), events_(schedule.launches.size()) {
    int last = -1;  // launch on a device stream
    for (int l = 0; l < static_cast<int>(schedule.launches.size()); ++l) {
      const Launch& launch = schedule.launches[l];
      if (!OnDevice(launch)) continue;
      // What the host did before the step is done when a step starts, and it ends after all launches have.
      for (int wait : launch.waits) {
        if (OnDevice(schedule.launches[wait])) waits_[l].push_back(wait);
      }
      if (serial && last >= 0 && schedule.launches[last].stream != launch.stream) waits_[l].push_back(last);
      last = l;
      for (int wait : waits_[l]) needed_.resize(std::max(needed_.size(), static_cast<size_t>(wait) + 1));
      for (int wait : waits_[l]) needed_[wait] = true;
    }
    needed_.resize(schedule.launches.size());
  }

  bool OnDevice(const Launch& launch) const { return launch.stream != schedule_.host_stream(); }

  absl::Status WaitFor(int launch, Stream& stream) {
    for (int before : waits_[launch]) RETURN_IF_ERROR(stream.Wait(*events_[before]));
    return absl::OkStatus();
  }

  absl::Status Record(int launch, Stream& stream) {
    if (!needed_[launch]) return absl::OkStatus();
    ASSIGN_OR_RETURN(events_[launch], device_.CreateEvent());
    return stream.Record(*events_[launch]);
  }

 private:
  const Schedule& schedule_;
  Device& device_;
  std::vector<std::vector<int>> waits_;
  std::vector<bool> needed_;
  std::vector<std::unique_ptr<Event>> events_;
};

}  // namespace

Executor::Executor(ExecutorBinding binding) : binding_(std::move(binding)) {}

Executor::~Executor() = default;

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(const Schedule& schedule, ExecutorBinding binding,
                                                           ExecutorOptions options) {
  RETURN_IF_ERROR(CheckBinding(schedule, binding));
  std::unique_ptr<Executor> executor(new Executor(std::move(binding)));
  RETURN_IF_ERROR(executor->PlanWatches(schedule, options));
  RETURN_IF_ERROR(executor->Capture(schedule, options));
  return executor;
}

absl::Status Executor::PlanWatches(const Schedule& schedule, const ExecutorOptions& options) {
  const size_t launches = schedule.launches.size();
  before_.resize(launches);
  behind_.resize(launches);
  const auto add = [&](Watch::Kind kind, ValueId value) {
    const ValuePlacement& placement = schedule.values[value];
    if (placement.offset < 0) return;
    Watched& watched = watched_.emplace_back();
    watched.value = value;
    watched.watch.kind = kind;
    watched.watch.dtype = placement.tensor.dtype;
    watched.watch.data = static_cast<char*>(binding_.arena) + placement.offset;
    watched.watch.bytes = placement.tensor.bytes();
    if (kind == Watch::Kind::kCopy) {
      watched.watch.copy.resize(watched.watch.bytes);
      observed_[value] = &watched.watch;
    }
    const bool staged = placement.launch < 0 || schedule.launches[placement.launch].stream == schedule.host_stream();
    watched.launch = staged ? -1 : placement.launch;
    if (staged) {
      at_start_.push_back(&watched);
    } else {
      behind_[placement.launch].push_back(&watched.watch);
    }
  };
  for (ValueId value : options.observe) {
    if (value < 0 || value >= static_cast<ValueId>(schedule.values.size())) {
      return Internal("rank {}: cannot observe value {} of {}", schedule.rank, value, schedule.values.size());
    }
    add(Watch::Kind::kCopy, value);
  }
  if (options.check_finite) {
    for (ValueId value = 0; value < static_cast<ValueId>(schedule.values.size()); ++value) {
      if (IsFloating(schedule.values[value].tensor.dtype)) add(Watch::Kind::kFinite, value);
    }
  }
  if (!options.poison) return absl::OkStatus();
  for (const Lifetime& lifetime : schedule.lifetimes) {
    if (lifetime.persistent) continue;
    Watch& poison = poison_.emplace_back();
    poison.kind = Watch::Kind::kPoison;
    poison.data = static_cast<char*>(binding_.arena) + lifetime.range.offset;
    poison.bytes = lifetime.range.bytes;
    const auto on_device = [&](int l) { return schedule.launches[l].stream != schedule.host_stream(); };
    if (on_device(lifetime.first)) before_[lifetime.first].push_back(&poison);
    if (on_device(lifetime.last)) behind_[lifetime.last].push_back(&poison);
  }
  return absl::OkStatus();
}

absl::Status Executor::Capture(const Schedule& schedule, const ExecutorOptions& options) {
  RETURN_IF_ERROR(
      binding_.device->BeginCapture(std::span(binding_.streams).first(static_cast<size_t>(schedule.streams))));
  const absl::Status walked = Walk(schedule, options);
  for (Stream* stream : binding_.streams) stream->Tag(-1);
  auto step = binding_.device->EndCapture();
  RETURN_IF_ERROR(walked);
  if (!step.ok()) return step.status();
  step_ = *std::move(step);
  return absl::OkStatus();
}

absl::Status Executor::Walk(const Schedule& schedule, const ExecutorOptions& options) {
  Events events(schedule, options.poison, *binding_.device);
  for (int l = 0; l < static_cast<int>(schedule.launches.size()); ++l) {
    const Launch& launch = schedule.launches[l];
    if (!events.OnDevice(launch)) continue;
    Stream& stream = *binding_.streams[launch.stream];
    RETURN_IF_ERROR(events.WaitFor(l, stream));
    stream.Tag(-1);
    for (Watch* watch : before_[l]) RETURN_IF_ERROR(watch->Enqueue(stream));
    stream.Tag(l);
    RETURN_IF_ERROR(WithContext(fmt::format("node '{}'", launch.name), EnqueueWork(launch, stream)));
    stream.Tag(-1);
    for (Watch* watch : behind_[l]) RETURN_IF_ERROR(watch->Enqueue(stream));
    RETURN_IF_ERROR(events.Record(l, stream));
  }
  return absl::OkStatus();
}

absl::Status Executor::EnqueueWork(const Launch& launch, Stream& stream) {
  if (const auto* collective = std::get_if<CollectiveLaunch>(&launch.work)) {
    const auto group = static_cast<size_t>(collective->group);
    if (group >= binding_.communicators.size() || binding_.communicators[group] == nullptr) {
      return Internal("there is no communicator of group {}", group);
    }
    return EnqueueCollective(*collective, binding_.arena, *binding_.communicators[group], stream);
  }
  if (const auto* kernel = std::get_if<KernelLaunch>(&launch.work)) {
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> made, MakeKernel(*kernel));
    kernels_.push_back(std::move(made));
  } else {
    kernels_.push_back(std::make_unique<CopyKernel>(std::get<CopyLaunch>(launch.work), binding_.arena));
  }
  return kernels_.back()->Launch(stream);
}

absl::StatusOr<std::unique_ptr<Kernel>> Executor::MakeKernel(const KernelLaunch& launch) const {
  char* const base = static_cast<char*>(binding_.arena);
  const auto address = [base](int64_t offset) -> void* { return offset < 0 ? nullptr : base + offset; };
  KernelArguments arguments;
  for (int64_t input : launch.inputs) arguments.inputs.push_back(address(input));
  for (int64_t output : launch.outputs) arguments.outputs.push_back(address(output));
  arguments.workspace = address(launch.workspace);
  arguments.seed = binding_.seed;
  return binding_.kernels->Create(launch.node, launch.choice, std::move(arguments));
}

absl::Status Executor::Start() {
  for (Watched* watched : at_start_) watched->watch.Run();
  return step_->Launch();
}

absl::Status Executor::Wait() { return step_->Wait(); }

const void* Executor::Observed(ValueId value) const {
  const auto found = observed_.find(value);
  return found == observed_.end() ? nullptr : found->second->copy.data();
}

ValueId Executor::FirstNonFinite() const {
  const Watched* first = nullptr;
  for (const Watched& watched : watched_) {
    if (watched.watch.kind != Watch::Kind::kFinite || watched.watch.finite) continue;
    if (first == nullptr || watched.launch < first->launch) first = &watched;
  }
  return first == nullptr ? kNoValue : first->value;
}

}  // namespace partita
