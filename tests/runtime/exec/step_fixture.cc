#include "tests/runtime/exec/step_fixture.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/device/host/host_stream.h"

namespace partita {
namespace {

class VectorKernel : public Kernel {
 public:
  VectorKernel(std::string kernel, int64_t elements, KernelArguments arguments)
      : kernel_(std::move(kernel)), elements_(elements), arguments_(std::move(arguments)) {}

  absl::Status Launch(Stream& stream) override {
    auto* const host = dynamic_cast<HostStream*>(&stream);
    CHECK(host != nullptr);
    return host->Enqueue({[](void* self) { return static_cast<VectorKernel*>(self)->Run(); }, this});
  }

 private:
  absl::Status Run() {
    if (kernel_ == "fail") return InvalidArgument("this kernel fails");
    auto* const y = static_cast<double*>(arguments_.outputs[0]);
    for (int64_t i = 0; i < elements_; ++i) y[i] = Element(i);
    return absl::OkStatus();
  }

  double Element(int64_t i) const {
    const auto x = [&](size_t input) { return static_cast<const double*>(arguments_.inputs[input])[i]; };
    if (kernel_ == "add_one") return x(0) + 1;
    if (kernel_ == "divide") return 1 / x(0);
    double sum = 0;
    for (size_t input = 0; input < arguments_.inputs.size(); ++input) sum += x(input);
    return sum;
  }

  const std::string kernel_;
  const int64_t elements_;
  const KernelArguments arguments_;
};

}  // namespace

absl::StatusOr<KernelChoice> VectorKernels::Choose(const LocalNode&) const { return KernelChoice{"sum", 0, true}; }

absl::StatusOr<std::unique_ptr<Kernel>> VectorKernels::Create(const LocalNode& node, const KernelChoice& choice,
                                                              KernelArguments arguments) const {
  return std::make_unique<VectorKernel>(choice.kernel, node.outputs[0].elements(), std::move(arguments));
}

ScheduleBuilder::ScheduleBuilder(int64_t elements, int streams) : elements_(elements) {
  schedule_.streams = streams;
  Launch begin;
  begin.name = "begin";
  begin.stream = schedule_.host_stream();
  begin.work = HostLaunch{true};
  schedule_.launches.push_back(begin);
}

LocalTensor ScheduleBuilder::Tensor() const { return {DType::kF64, {elements_}, WholeBox({elements_})}; }

ValueId ScheduleBuilder::AddValue(const std::string& name, int64_t offset, int launch, bool persistent) {
  schedule_.values.push_back({Tensor(), offset, launch});
  const int first = std::max(launch, 0);
  schedule_.lifetimes.push_back({name, {offset, bytes()}, first, first, persistent});
  return static_cast<ValueId>(schedule_.values.size()) - 1;
}

ValueId ScheduleBuilder::Input(const std::string& name, int64_t offset) {
  schedule_.inputs.push_back({name, Tensor(), offset});
  return AddValue(name, offset, 0, false);
}

ValueId ScheduleBuilder::State(const std::string& name, int64_t offset) {
  schedule_.states.push_back({name, Tensor(), offset});
  return AddValue(name, offset, -1, true);
}

ValueId ScheduleBuilder::Kernel(const std::string& kernel, const std::string& name, std::vector<ValueId> inputs,
                                int64_t offset, int stream, std::vector<int> waits) {
  const int index = static_cast<int>(schedule_.launches.size());
  KernelLaunch work;
  work.node.name = name;
  work.choice.kernel = kernel;
  for (ValueId input : inputs) {
    work.node.inputs.push_back(Tensor());
    work.inputs.push_back(schedule_.values[input].offset);
    schedule_.lifetimes[input].last = index;
  }
  work.node.outputs.push_back(Tensor());
  work.outputs.push_back(offset);
  Launch launch;
  launch.name = name;
  launch.node = index;
  launch.stream = stream;
  launch.waits = std::move(waits);
  launch.work = std::move(work);
  launch.accesses = AccessesOf(launch);
  schedule_.launches.push_back(std::move(launch));
  return AddValue(name, offset, index, false);
}

Schedule ScheduleBuilder::Finish(std::vector<ValueId> results) {
  Launch end;
  end.name = "end";
  end.stream = schedule_.host_stream();
  end.work = HostLaunch{false};
  for (int stream = 0; stream < schedule_.streams; ++stream) {
    for (int l = static_cast<int>(schedule_.launches.size()) - 1; l > 0; --l) {
      if (schedule_.launches[l].stream != stream) continue;
      end.waits.push_back(l);
      break;
    }
  }
  const int index = static_cast<int>(schedule_.launches.size());
  schedule_.launches.push_back(end);
  for (ValueId result : results) {
    schedule_.lifetimes[result].last = index;
    schedule_.results.push_back(
        {schedule_.lifetimes[result].name, schedule_.values[result].tensor, schedule_.values[result].offset});
  }
  for (const Lifetime& lifetime : schedule_.lifetimes) {
    schedule_.memory.total = std::max(schedule_.memory.total, lifetime.range.offset + lifetime.range.bytes);
  }
  return schedule_;
}

BoundStep::BoundStep(const Schedule& schedule, HostDeviceOptions device, ExecutorOptions options, int64_t guard_bytes)
    : device_(device), arena_(*device_.Allocate(schedule.memory.total + guard_bytes)) {
  static const VectorKernels& kernels = *new VectorKernels;
  ExecutorBinding binding;
  binding.device = &device_;
  binding.arena = arena_->data();
  binding.kernels = &kernels;
  for (int s = 0; s < schedule.streams; ++s) {
    streams_.push_back(*device_.CreateStream("stream"));
    binding.streams.push_back(streams_.back().get());
  }
  auto executor = Executor::Create(schedule, std::move(binding), std::move(options));
  CHECK(executor.ok());
  executor_ = *std::move(executor);
}

absl::Status BoundStep::Step() {
  RETURN_IF_ERROR(executor_->Start());
  return executor_->Wait();
}

}  // namespace partita
