#include "tools/benchmarks/kernels/kernel_benchmark.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "graph/ir/node_flops.h"
#include "runtime/base/median.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/kernels/limit_meter.h"
#include "tools/benchmarks/kernels/timed_kernel.h"
#include "tools/models/kernels/kernel_cases.h"

namespace partita {
namespace {

absl::StatusOr<double> MedianSeconds(TimedKernel& kernel, int rounds) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    ASSIGN_OR_RETURN(seconds.emplace_back(), kernel.Round());
  }
  return Median(std::move(seconds));
}

}  // namespace

absl::StatusOr<std::vector<KernelRow>> BenchmarkKernels(const KernelTarget& target, int rounds) {
  ASSIGN_OR_RETURN(LimitMeter meter, LimitMeter::Create(target, DType::kF32));
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, target.device->CreateStream("benchmark"));
  ASSIGN_OR_RETURN(const std::vector<KernelCase> cases, KernelCases(target.batch, target.side));
  std::vector<KernelRow> rows;
  for (const KernelCase& c : cases) {
    ASSIGN_OR_RETURN(TimedKernel kernel, TimedKernel::Create(target, c.node, *stream));
    ASSIGN_OR_RETURN(const double seconds, MedianSeconds(kernel, rounds));
    const double work = c.flops > 0 ? c.flops : BytesOf(c.node);
    rows.push_back({target.name, kernel.name(), fmt::format("{}", fmt::join(c.node.inputs[0]->shape(), "x")),
                    seconds * 1e6, work / seconds / 1e9, c.flops > 0 ? "GFLOP/s" : "GB/s", 0});
    RETURN_IF_ERROR(meter.Round());
  }
  const DeviceLimits& limits = meter.limits();
  for (size_t i = 0; i < rows.size(); ++i) {
    const double most = cases[i].flops > 0 ? limits.flops_per_s : limits.BytesPerSecond(BytesOf(cases[i].node));
    rows[i].share = rows[i].rate * 1e9 / most;
  }
  return rows;
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
