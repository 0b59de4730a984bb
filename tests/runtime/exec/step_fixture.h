// Schedules written by hand, and kernels that do something simple to vectors of f64.
#ifndef PARTITA_TESTS_RUNTIME_EXEC_STEP_FIXTURE_H_
#define PARTITA_TESTS_RUNTIME_EXEC_STEP_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/host/host_device.h"
#include "runtime/exec/executor.h"

namespace partita {

// Kernels, by the name in KernelChoice:
//   add_one     y[i] = x[i] + 1
//   sum         y[i] = x0[i] + x1[i] + ...
//   divide      y[i] = 1 / x[i]
//   fail        an error
class VectorKernels : public KernelLibrary {
 public:
  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice& choice,
                                                 KernelArguments arguments) const override;
};

// Builds a schedule value by value; every value is `elements` f64 and each has an offset of its own choice.
class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(int64_t elements, int streams = 1);

  // Values are numbered in the order of these calls.
  ValueId Input(const std::string& name, int64_t offset);
  ValueId State(const std::string& name, int64_t offset);
  // A launch of `kernel` that writes a new value at `offset`.
  ValueId Kernel(const std::string& kernel, const std::string& name, std::vector<ValueId> inputs, int64_t offset,
                 int stream = 0, std::vector<int> waits = {});
  // Ends the schedule: lifetimes run from the writer to the last reader, the total is the highest end.
  Schedule Finish(std::vector<ValueId> results = {});

  // The launch that writes a value.
  int LaunchOf(ValueId value) const { return schedule_.values[value].launch; }
  int64_t bytes() const { return elements_ * 8; }

 private:
  LocalTensor Tensor() const;
  ValueId AddValue(const std::string& name, int64_t offset, int launch, bool persistent);

  int64_t elements_;
  Schedule schedule_;
};

// A schedule bound to a host device and an arena.
class BoundStep {
 public:
  // The arena has `guard_bytes` more than the schedule says.
  BoundStep(const Schedule& schedule, HostDeviceOptions device = {}, ExecutorOptions options = {},
            int64_t guard_bytes = 0);

  double* At(int64_t offset) { return reinterpret_cast<double*>(static_cast<char*>(arena_->data()) + offset); }
  void* arena() { return arena_->data(); }
  Executor& executor() { return *executor_; }
  absl::Status Step();

 private:
  HostDevice device_;
  std::unique_ptr<Arena> arena_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_EXEC_STEP_FIXTURE_H_
