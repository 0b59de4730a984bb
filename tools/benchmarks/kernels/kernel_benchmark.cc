#include "tools/benchmarks/kernels/kernel_benchmark.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "graph/ir/node_flops.h"
#include "graph/ir/op_definition.h"
#include "ops/registry.h"
#include "runtime/api/backend/backend.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/device/host/host_device.h"
#include "tools/models/kernels/kernel_cases.h"

namespace partita {
namespace {

// Launches of a round: about this long together.
constexpr double kRoundSeconds = 0.02;

// A node with memory of its own, all zeros.
struct Bound {
  std::unique_ptr<Arena> memory;
  std::unique_ptr<Kernel> kernel;
  std::string name;
};

absl::StatusOr<Bound> Bind(const KernelTarget& target, const LocalNode& node) {
  ASSIGN_OR_RETURN(const KernelChoice choice, target.kernels->Choose(node));
  int64_t bytes = 0;
  const auto place = [&bytes](int64_t size) { return std::exchange(bytes, bytes + (size + 255) / 256 * 256); };
  std::vector<int64_t> inputs, outputs;
  for (const auto& input : node.inputs) inputs.push_back(input.has_value() ? place(input->bytes()) : -1);
  for (const LocalTensor& output : node.outputs) outputs.push_back(place(output.bytes()));
  const int64_t workspace = place(choice.workspace_bytes);
  Bound bound;
  bound.name = choice.kernel;
  ASSIGN_OR_RETURN(bound.memory, target.device->Allocate(bytes));
  char* const data = static_cast<char*>(bound.memory->data());
  KernelArguments arguments;
  for (int64_t offset : inputs) arguments.inputs.push_back(offset < 0 ? nullptr : data + offset);
  for (int64_t offset : outputs) arguments.outputs.push_back(data + offset);
  arguments.workspace = data + workspace;
  ASSIGN_OR_RETURN(bound.kernel, target.kernels->Create(node, choice, std::move(arguments)));
  return bound;
}

absl::StatusOr<double> TimeLaunches(Kernel& kernel, Stream& stream, int64_t launches) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < launches; ++i) RETURN_IF_ERROR(kernel.Launch(stream));
  RETURN_IF_ERROR(stream.Synchronize());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
         static_cast<double>(launches);
}

struct Measured {
  std::string kernel;
  double seconds = 0;
};

absl::StatusOr<Measured> Measure(const KernelTarget& target, const LocalNode& node, Stream& stream, int rounds) {
  ASSIGN_OR_RETURN(const Bound bound, Bind(target, node));
  ASSIGN_OR_RETURN(double seconds, TimeLaunches(*bound.kernel, stream, 1));
  ASSIGN_OR_RETURN(seconds, TimeLaunches(*bound.kernel, stream, 2));
  const int64_t launches = std::clamp<int64_t>(static_cast<int64_t>(kRoundSeconds / std::max(seconds, 1e-7)), 1, 2000);
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    ASSIGN_OR_RETURN(const double time, TimeLaunches(*bound.kernel, stream, launches));
    times.push_back(time);
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return Measured{bound.name, times[static_cast<size_t>(rounds / 2)]};
}

}  // namespace

absl::StatusOr<KernelTarget> OpenTarget(const SessionOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Backend> backend, Backend::OpenToPlan(1, Spread::kThreads, options));
  RETURN_IF_ERROR(backend->gpu_missing());
  KernelTarget target;
  target.name = backend->device_name();
  target.kernels = std::shared_ptr<const KernelLibrary>(backend, &backend->kernels());
  if (backend->gpu() != nullptr) {
    target.device = std::shared_ptr<Device>(backend, backend->gpu());
    target.batch = 256;
    target.side = 8192;
  } else {
    target.device = std::make_shared<HostDevice>(HostDeviceOptions{.threads = backend->threads_per_rank()});
    target.batch = 16;
    target.side = 1024;
  }
  return target;
}

absl::StatusOr<std::vector<KernelRow>> BenchmarkKernels(const KernelTarget& target, int rounds) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, target.device->CreateStream("benchmark"));
  ASSIGN_OR_RETURN(const std::vector<KernelCase> cases, KernelCases(target.batch, target.side));
  double copy = 0, product = 0;  // the limits, which the first two cases are
  std::vector<KernelRow> rows;
  for (const KernelCase& c : cases) {
    ASSIGN_OR_RETURN(const Measured measured, Measure(target, c.node, *stream, rounds));
    const double work = c.flops > 0 ? c.flops : BytesOf(c.node);
    double& limit = c.flops > 0 ? product : copy;
    const double rate = work / measured.seconds;
    if (limit == 0) limit = rate;
    rows.push_back({target.name, measured.kernel, fmt::format("{}", fmt::join(c.node.inputs[0]->shape(), "x")),
                    measured.seconds * 1e6, rate / 1e9, c.flops > 0 ? "GFLOP/s" : "GB/s", rate / limit});
  }
  return rows;
}

absl::StatusOr<double> MeasureProduct(const KernelTarget& target, DType dtype, int rounds) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, target.device->CreateStream("benchmark"));
  ASSIGN_OR_RETURN(const KernelCase product, ProductCase(target.side, dtype));
  ASSIGN_OR_RETURN(const Measured measured, Measure(target, product.node, *stream, rounds));
  return product.flops / measured.seconds;
}

absl::StatusOr<double> MeasureCopy(const KernelTarget& target, int rounds) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, target.device->CreateStream("benchmark"));
  ASSIGN_OR_RETURN(const KernelCase copy, CopyCase(target.batch));
  ASSIGN_OR_RETURN(const Measured measured, Measure(target, copy.node, *stream, rounds));
  return BytesOf(copy.node) / measured.seconds;
}

std::string ToText(const std::vector<KernelRow>& rows) {
  std::string text;
  for (const KernelRow& row : rows) {
    text += fmt::format("{:<12} {:<38} {:<18} {:>10.1f} us {:>9.1f} {:<8} {:>4.0f} %\n", row.device, row.kernel,
                        row.sizes, row.microseconds, row.rate, row.unit, row.share * 100);
  }
  return text;
}

std::string ToJson(const std::vector<KernelRow>& rows) {
  std::string json = "[";
  for (const KernelRow& row : rows) {
    json += fmt::format(
        "{}\n  {{\"device\": \"{}\", \"kernel\": \"{}\", \"sizes\": \"{}\", \"microseconds\": {:.3f}, \"rate\": "
        "{:.3f}, "
        "\"unit\": \"{}\", \"share\": {:.4f}}}",
        json.size() == 1 ? "" : ",", row.device, row.kernel, row.sizes, row.microseconds, row.rate, row.unit,
        row.share);
  }
  return json + "\n]\n";
}

}  // namespace partita
