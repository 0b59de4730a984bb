// A convolution with its gradients, and how kernels of them are run: what the tests of single algorithms share.
#ifndef PARTITA_TESTS_OPS_HOST_WINOGRAD_TRIO_H_
#define PARTITA_TESTS_OPS_HOST_WINOGRAD_TRIO_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/kernel_catalogue.h"
#include "ops/host/kernel/host_kernel.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

// Of the same values: x [n,h,w,c], w, and dy.
struct Trio {
  // `attributes` are those of conv2d.
  Trio(const Shape& x_shape, const Shape& w_shape, Attributes attributes, uint64_t seed);
  // Of dense channels: w [filters, kernel_h, kernel_w, c].
  Trio(const Shape& x_shape, int64_t filters, int64_t kernel_h, int64_t kernel_w, const IntList& padding,
       uint64_t seed);

  std::vector<std::pair<LocalNode, std::vector<Values>>> all() const {
    return {{forward, {values_x, values_w}}, {input_grad, {values_dy, values_w}}, {weight_grad, {values_x, values_dy}}};
  }

  LocalNode forward, input_grad, weight_grad;
  Values values_x, values_w, values_dy;
};

// The one output of what `prepare` gives, prepared and run on a stream with this number of threads. `kernel` is for
// messages.
Values RunPrepared(const LocalNode& node, const std::vector<Values>& inputs, const RunOptions& options,
                   const std::string& kernel, const std::function<absl::StatusOr<PreparedKernel>()>& prepare);

// What the f64 reference gives.
Values ExactOutput(const LocalNode& node, const std::vector<Values>& inputs);

double Inner(const Values& a, const Values& b);
double RootMeanSquareError(const Values& found, const Values& exact);

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_WINOGRAD_TRIO_H_
