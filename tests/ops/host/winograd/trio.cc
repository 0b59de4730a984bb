#include "tests/ops/host/winograd/trio.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/base/status.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_stream.h"

namespace partita {
namespace {

// Runs `task` on a stream of so many threads: kernels are prepared for the threads that run them.
absl::Status OnThreads(int threads, std::function<absl::Status()> task) {
  HostDevice device(HostDeviceOptions{.threads = threads});
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.CreateStream("test"));
  const auto call = [](void* self) { return (*static_cast<std::function<absl::Status()>*>(self))(); };
  RETURN_IF_ERROR(dynamic_cast<HostStream&>(*stream).Enqueue({call, &task}));
  return stream->Synchronize();
}

}  // namespace

Trio::Trio(const Shape& x_shape, int64_t filters, int64_t kernel_h, int64_t kernel_w, const IntList& padding,
           uint64_t seed)
    : Trio(x_shape, {filters, kernel_h, kernel_w, x_shape[3]}, {{"padding", padding}}, seed) {}

Trio::Trio(const Shape& x_shape, const Shape& w_shape, Attributes attributes, uint64_t seed) {
  const TensorType x{DType::kF32, x_shape}, w{DType::kF32, w_shape};
  forward = WholeNode("conv2d", attributes, {x, w});
  const TensorType y{DType::kF32, forward.outputs[0].global};
  attributes.Set("shape", x.shape);
  input_grad = WholeNode("conv2d_input_grad", attributes, {y, w});
  attributes.Set("shape", w.shape);
  weight_grad = WholeNode("conv2d_weight_grad", attributes, {x, y});
  values_x = RandomValues(Elements(x.shape), seed);
  values_w = RandomValues(Elements(w.shape), seed + 1);
  values_dy = RandomValues(Elements(y.shape), seed + 2);
}

Values RunPrepared(const LocalNode& node, const std::vector<Values>& inputs, const RunOptions& options,
                   const std::string& kernel, const std::function<absl::StatusOr<PreparedKernel>()>& prepare) {
  absl::StatusOr<PreparedKernel> prepared = absl::UnknownError("not prepared");
  const absl::Status status = OnThreads(options.threads, [&] {
    prepared = prepare();
    return prepared.status();
  });
  EXPECT_TRUE(status.ok()) << status;
  if (!status.ok()) return {};
  const auto run = [&](const KernelArguments& arguments) {
    return OnThreads(options.threads, [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const Computation compute, prepared->bind(arguments));
      return compute();
    });
  };
  const auto outputs = RunOnBuffers(node, inputs, options, prepared->workspace_bytes, kernel, run);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? outputs->front() : Values{};
}

Values ExactOutput(const LocalNode& node, const std::vector<Values>& inputs) {
  return Outputs(InF64(node), inputs, {.reference_only = true})[0];
}

double Inner(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double RootMeanSquareError(const Values& found, const Values& exact) {
  double sum = 0;
  for (size_t i = 0; i < found.size(); ++i) sum += (found[i] - exact[i]) * (found[i] - exact[i]);
  return std::sqrt(sum / static_cast<double>(found.size()));
}

}  // namespace partita
