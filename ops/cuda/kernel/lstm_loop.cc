#include "ops/cuda/kernel/lstm_loop.h"

#include "ops/cuda/kernel/length_fault.h"
#include "ops/cuda/kernel/workspace.h"
#include "ops/values/lstm_geometry.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using launch::LstmProduct;
using launch::LstmState;
using launch::LstmSums;

// Dense rows of the workspace. What a launch multiplies by must not be what it writes, so the state has two places in
// turn: after the last step it is in the output.
class ForwardRows {
 public:
  ForwardRows(DType dtype, const LstmSizes& s, Workspace workspace)
      : state_(s.projected ? nullptr : workspace.Take(dtype, s.samples * s.units)),
        outputs_(s.projected ? workspace.Take(dtype, s.samples * s.units) : nullptr),
        bytes_(workspace.bytes()) {}

  void* State(int64_t steps_left, void* output) const { return steps_left % 2 == 0 ? output : state_; }
  void* outputs() const { return outputs_; }
  int64_t bytes() const { return bytes_; }

 private:
  void *state_, *outputs_;
  int64_t bytes_;
};

class BackwardRows {
 public:
  BackwardRows(DType dtype, const LstmSizes& s, Workspace workspace)
      : dg_{workspace.Take(dtype, s.samples * s.gates()), workspace.Take(dtype, s.samples * s.gates())},
        dprojected_(s.projected ? workspace.Take(dtype, s.samples * s.outputs) : nullptr),
        bytes_(workspace.bytes()) {}

  void* dg(int64_t step) const { return dg_[step % 2]; }  // of a step and of the one behind it
  void* dprojected() const { return dprojected_; }
  int64_t bytes() const { return bytes_; }

 private:
  void *dg_[2], *dprojected_;
  int64_t bytes_;
};

}  // namespace

absl::StatusOr<LstmLoop> LstmLoop::Of(const LocalNode& node) {
  LstmLoop loop;
  loop.dtype_ = node.outputs[0].dtype;
  RETURN_IF_ERROR(RequireFloating(loop.dtype_));
  loop.backward_ = !node.attributes.Has("forget_bias");  // gates are open already
  loop.sizes_ = loop.backward_ ? MakeLstmGradSizes(node) : MakeLstmSizes(node);
  loop.begins_ = HasInput(node, loop.backward_ ? size_t{LstmStepsGrad::kH0} : size_t{LstmSteps::kH0});
  const size_t lengths = loop.backward_ ? size_t{LstmStepsGrad::kLengths} : size_t{LstmSteps::kLengths};
  loop.lengths_ = IndexPlaces(node, lengths);
  return loop;
}

std::vector<LstmProduct> LstmLoop::products() const {
  std::vector<LstmProduct> products = {backward_ ? LstmProduct::kStateGradient : LstmProduct::kGates};
  if (sizes_.projected) {
    products.push_back(backward_ ? LstmProduct::kProjectionGradient : LstmProduct::kProjection);
  }
  return products;
}

// A product and a launch each; none of a state that is zero. Backward that of h0 comes last.
int LstmLoop::library_launches() const {
  const int64_t each = sizes_.places * (sizes_.projected ? 4 : 2);
  if (backward_) return static_cast<int>(each - 1 + (begins_ ? 2 : 1));
  return static_cast<int>(begins_ ? each : each - 1);
}

int64_t LstmLoop::workspace_bytes() const {
  const Workspace none(nullptr);
  return backward_ ? BackwardRows(dtype_, sizes_, none).bytes() : ForwardRows(dtype_, sizes_, none).bytes();
}

absl::Status LstmLoop::Enqueue(const KernelArguments& arguments, const LstmProducts& products, CudaQueue queue) const {
  if (sizes_.samples == 0) return absl::OkStatus();
  return backward_ ? Backward(arguments, products, queue) : Forward(arguments, products, queue);
}

absl::Status LstmLoop::Forward(const KernelArguments& a, const LstmProducts& products, CudaQueue queue) const {
  using Steps = LstmSteps;
  const LstmSizes& s = sizes_;
  const ForwardRows rows(dtype_, s, Workspace(a.workspace));
  void *const last_h = Out(a, Steps::kLastH), *const last_c = Out(a, Steps::kLastC);
  LstmState h{nullptr, nullptr}, c{In(a, Steps::kC0), last_c};
  h.before = In(a, Steps::kH0);
  for (int64_t step = 0; step < s.places; ++step) {
    const launch::LstmPlace at{s, s.Place(step), In<int32_t>(a, Steps::kLengths), a.fault};
    h.after = s.projected ? last_h : rows.State(s.places - 1 - step, last_h);
    LstmSums product;
    if (h.before != nullptr) {
      ASSIGN_OR_RETURN(product, products(LstmProduct::kGates, h.before, In(a, Steps::kWeights), queue));
    }
    const launch::LstmCells cells{
        In(a, Steps::kG), Out(a, Steps::kGates), Out(a, Steps::kCells), c, Out(a, Steps::kH), h, rows.outputs()};
    RETURN_IF_ERROR(LaunchStatus(launch::OpenLstmGates(dtype_, at, product, cells, queue)));
    if (s.projected) {
      ASSIGN_OR_RETURN(product, products(LstmProduct::kProjection, rows.outputs(), In(a, Steps::kProjection), queue));
      RETURN_IF_ERROR(LaunchStatus(launch::KeepLstmOutputs(dtype_, at, product, Out(a, Steps::kH), h, queue)));
    }
    h.before = h.after;
    c.before = c.after;
  }
  return absl::OkStatus();
}

absl::Status LstmLoop::Backward(const KernelArguments& a, const LstmProducts& products, CudaQueue queue) const {
  using Grad = LstmStepsGrad;
  const LstmSizes& s = sizes_;
  const BackwardRows rows(dtype_, s, Workspace(a.workspace));
  LstmState dg, dcells{nullptr, Out(a, Grad::kDc0)};
  for (int64_t step = s.places - 1; step >= 0; --step) {
    const launch::LstmPlace at{s, s.Place(step), In<int32_t>(a, Grad::kLengths), nullptr};
    dg.after = rows.dg(step);
    LstmSums product;
    if (dg.before != nullptr) {
      ASSIGN_OR_RETURN(product, products(LstmProduct::kStateGradient, dg.before, In(a, Grad::kWeights), queue));
    }
    const launch::LstmOutputGradients outputs{In(a, Grad::kDh),
                                              In(a, Grad::kH),
                                              In(a, Grad::kH0),
                                              Out(a, Grad::kPrevious),
                                              s.projected ? Out(a, Grad::kDprojected) : nullptr,
                                              rows.dprojected()};
    if (s.projected) {
      RETURN_IF_ERROR(LaunchStatus(launch::AddLstmOutputGradients(dtype_, at, product, outputs, queue)));
      ASSIGN_OR_RETURN(product,
                       products(LstmProduct::kProjectionGradient, rows.dprojected(), In(a, Grad::kProjection), queue));
    }
    const launch::LstmGateGradients gates{In(a, Grad::kGates),
                                          In(a, Grad::kCells),
                                          In(a, Grad::kC0),
                                          Out(a, Grad::kDg),
                                          dg,
                                          dcells,
                                          s.projected ? Out(a, Grad::kCellOutputs) : nullptr};
    RETURN_IF_ERROR(LaunchStatus(launch::AddLstmGateGradients(dtype_, at, product, gates, outputs, queue)));
    dg.before = dg.after;
    dcells.before = dcells.after;
  }
  void* const dh0 = Out(a, Grad::kDh0);
  if (!begins_) return LaunchStatus(queue->Zero(dh0, s.samples * s.outputs * SizeOf(dtype_)));
  ASSIGN_OR_RETURN(const LstmSums product,
                   products(LstmProduct::kStateGradient, dg.before, In(a, Grad::kWeights), queue));
  return LaunchStatus(launch::StoreLstmStateGradient(dtype_, s, product, dh0, queue));
}

absl::Status LstmLoop::Explain(uint64_t word) const { return ExplainLength(lengths_, sizes_.places, word); }

}  // namespace partita
