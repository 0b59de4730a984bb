#include "tools/benchmarks/kernels/timed_kernel.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kRoundSeconds = 0.02;

}  // namespace

absl::StatusOr<TimedKernel> TimedKernel::Create(const KernelTarget& target, const LocalNode& node, Stream& stream) {
  ASSIGN_OR_RETURN(const KernelChoice choice, target.kernels->Choose(node));
  int64_t bytes = 0;
  const auto place = [&bytes](int64_t size) { return std::exchange(bytes, bytes + (size + 255) / 256 * 256); };
  std::vector<int64_t> inputs, outputs;
  for (const auto& input : node.inputs) inputs.push_back(input.has_value() ? place(input->bytes()) : -1);
  for (const LocalTensor& output : node.outputs) outputs.push_back(place(output.bytes()));
  const int64_t workspace = place(choice.workspace_bytes);
  TimedKernel timed;
  timed.name_ = choice.kernel;
  timed.stream_ = &stream;
  ASSIGN_OR_RETURN(timed.memory_, target.device->Allocate(bytes));
  char* const data = static_cast<char*>(timed.memory_->data());
  KernelArguments arguments;
  for (int64_t offset : inputs) arguments.inputs.push_back(offset < 0 ? nullptr : data + offset);
  for (int64_t offset : outputs) arguments.outputs.push_back(data + offset);
  arguments.workspace = data + workspace;
  ASSIGN_OR_RETURN(timed.kernel_, target.kernels->Create(node, choice, std::move(arguments)));
  RETURN_IF_ERROR(timed.TimeLaunches(1).status());
  ASSIGN_OR_RETURN(const double seconds, timed.TimeLaunches(2));
  timed.launches_ = std::clamp<int64_t>(static_cast<int64_t>(kRoundSeconds / std::max(seconds, 1e-7)), 1, 2000);
  return timed;
}

absl::StatusOr<double> TimedKernel::TimeLaunches(int64_t launches) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < launches; ++i) RETURN_IF_ERROR(kernel_->Launch(*stream_));
  RETURN_IF_ERROR(stream_->Synchronize());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
         static_cast<double>(launches);
}

}  // namespace partita
