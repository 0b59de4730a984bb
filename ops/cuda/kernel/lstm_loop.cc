#include "ops/cuda/kernel/lstm_loop.h"

#include "ops/cuda/kernel/length_fault.h"
#include "ops/cuda/kernel/workspace.h"
#include "ops/cuda/launch/arithmetic.h"
#include "ops/values/lstm_geometry.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

struct ForwardRows {
  ForwardRows(DType dtype, const LstmSizes& s, Workspace workspace)
      : product(workspace.Take(AccumulatorOf(dtype), s.samples * s.gates())),
        outputs(s.projected ? workspace.Take(dtype, s.samples * s.units) : nullptr),
        projected(s.projected ? workspace.Take(AccumulatorOf(dtype), s.samples * s.outputs) : nullptr),
        bytes(workspace.bytes()) {}

  void *product, *outputs, *projected;
  int64_t bytes;
};

struct BackwardRows {
  BackwardRows(DType dtype, const LstmSizes& s, Workspace workspace)
      : dg(workspace.Take(dtype, s.samples * s.gates())),
        product(workspace.Take(AccumulatorOf(dtype), s.samples * s.outputs)),
        dprojected(s.projected ? workspace.Take(dtype, s.samples * s.outputs) : nullptr),
        doutputs(s.projected ? workspace.Take(AccumulatorOf(dtype), s.samples * s.units) : nullptr),
        bytes(workspace.bytes()) {}

  void *dg, *product, *dprojected, *doutputs;
  int64_t bytes;
};

// A copy, or zeros where there is nothing to copy.
absl::Status Begin(void* to, const void* from, int64_t bytes, CudaQueue queue) {
  if (bytes == 0) return absl::OkStatus();
  return LaunchStatus(from == nullptr ? queue->Zero(to, bytes) : queue->Copy(to, from, bytes));
}

}  // namespace

launch::MatMulSizes SizesOf(LstmProduct product, const LstmSizes& s) {
  switch (product) {
    case LstmProduct::kGates:
      return {s.samples, s.gates(), s.outputs};
    case LstmProduct::kProjection:
      return {s.samples, s.outputs, s.units};
    case LstmProduct::kStateGradient:
      return {s.samples, s.outputs, s.gates(), false, true};
    case LstmProduct::kProjectionGradient:
      return {s.samples, s.units, s.outputs, false, true};
  }
  return {};
}

absl::StatusOr<LstmLoop> LstmLoop::Of(const LocalNode& node) {
  LstmLoop loop;
  loop.dtype_ = node.outputs[0].dtype;
  RETURN_IF_ERROR(RequireFloating(loop.dtype_));
  loop.backward_ = !node.attributes.Has("forget_bias");  // gates are open already
  loop.sizes_ = loop.backward_ ? MakeLstmGradSizes(node) : MakeLstmSizes(node);
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

int LstmLoop::launches() const {
  constexpr int kAround = 4;
  return kAround + static_cast<int>(sizes_.places) * (sizes_.projected ? 4 : 2);
}

int64_t LstmLoop::workspace_bytes() const {
  const Workspace none(nullptr);
  return backward_ ? BackwardRows(dtype_, sizes_, none).bytes : ForwardRows(dtype_, sizes_, none).bytes;
}

absl::Status LstmLoop::Enqueue(const KernelArguments& arguments, const MultiplyLstm& multiply, CudaQueue queue) const {
  if (sizes_.samples == 0) return absl::OkStatus();
  return backward_ ? Backward(arguments, multiply, queue) : Forward(arguments, multiply, queue);
}

// A state that is zero adds nothing: its product is left out.
absl::Status LstmLoop::Forward(const KernelArguments& a, const MultiplyLstm& multiply, CudaQueue queue) const {
  using Steps = LstmSteps;
  const LstmSizes& s = sizes_;
  const ForwardRows rows(dtype_, s, Workspace(a.workspace));
  void *const last_h = Out(a, Steps::kLastH), *const last_c = Out(a, Steps::kLastC);
  RETURN_IF_ERROR(Begin(last_h, In(a, Steps::kH0), s.samples * s.outputs * SizeOf(dtype_), queue));
  RETURN_IF_ERROR(Begin(last_c, In(a, Steps::kC0), s.samples * s.units * SizeOf(AccumulatorOf(dtype_)), queue));
  if (s.projected) RETURN_IF_ERROR(Begin(rows.outputs, nullptr, s.samples * s.units * SizeOf(dtype_), queue));
  for (int64_t step = 0; step < s.places; ++step) {
    const launch::LstmPlace at{s, s.Place(step), In<int32_t>(a, Steps::kLengths), a.fault};
    const bool zero = step == 0 && In(a, Steps::kH0) == nullptr;
    if (!zero) {
      RETURN_IF_ERROR(multiply(LstmProduct::kGates, last_h, In(a, Steps::kWeights), rows.product, queue));
    }
    const launch::LstmCells cells{In(a, Steps::kG),
                                  zero ? nullptr : rows.product,
                                  Out(a, Steps::kGates),
                                  Out(a, Steps::kCells),
                                  last_c,
                                  Out(a, Steps::kH),
                                  last_h,
                                  rows.outputs};
    RETURN_IF_ERROR(LaunchStatus(launch::OpenLstmGates(dtype_, at, cells, queue)));
    if (!s.projected) continue;
    RETURN_IF_ERROR(multiply(LstmProduct::kProjection, rows.outputs, In(a, Steps::kProjection), rows.projected, queue));
    RETURN_IF_ERROR(
        LaunchStatus(launch::KeepLstmOutputs(dtype_, at, rows.projected, Out(a, Steps::kH), last_h, queue)));
  }
  return absl::OkStatus();
}

absl::Status LstmLoop::Backward(const KernelArguments& a, const MultiplyLstm& multiply, CudaQueue queue) const {
  using Grad = LstmStepsGrad;
  const LstmSizes& s = sizes_;
  const BackwardRows rows(dtype_, s, Workspace(a.workspace));
  void* const dcells = Out(a, Grad::kDc0);
  RETURN_IF_ERROR(Begin(dcells, nullptr, s.samples * s.units * SizeOf(AccumulatorOf(dtype_)), queue));
  RETURN_IF_ERROR(Begin(rows.dg, nullptr, s.samples * s.gates() * SizeOf(dtype_), queue));
  const auto of_state = [&] {
    return multiply(LstmProduct::kStateGradient, rows.dg, In(a, Grad::kWeights), rows.product, queue);
  };
  for (int64_t step = s.places - 1; step >= 0; --step) {
    const launch::LstmPlace at{s, s.Place(step), In<int32_t>(a, Grad::kLengths), nullptr};
    const bool last = step == s.places - 1;
    if (!last) RETURN_IF_ERROR(of_state());
    const launch::LstmOutputGradients outputs{
        In(a, Grad::kDh), last ? nullptr : rows.product, In(a, Grad::kH),
        In(a, Grad::kH0), Out(a, Grad::kPrevious),       s.projected ? Out(a, Grad::kDprojected) : nullptr,
        rows.dprojected};
    if (s.projected) {
      RETURN_IF_ERROR(LaunchStatus(launch::AddLstmOutputGradients(dtype_, at, outputs, queue)));
      RETURN_IF_ERROR(
          multiply(LstmProduct::kProjectionGradient, rows.dprojected, In(a, Grad::kProjection), rows.doutputs, queue));
    }
    const launch::LstmGateGradients gates{In(a, Grad::kGates),
                                          In(a, Grad::kCells),
                                          In(a, Grad::kC0),
                                          rows.doutputs,
                                          Out(a, Grad::kDg),
                                          rows.dg,
                                          dcells,
                                          s.projected ? Out(a, Grad::kCellOutputs) : nullptr};
    RETURN_IF_ERROR(LaunchStatus(launch::AddLstmGateGradients(dtype_, at, gates, outputs, queue)));
  }
  const int64_t elements = s.samples * s.outputs;
  if (In(a, Grad::kH0) == nullptr) return Begin(Out(a, Grad::kDh0), nullptr, elements * SizeOf(dtype_), queue);
  RETURN_IF_ERROR(of_state());
  return LaunchStatus(launch::Cast(AccumulatorOf(dtype_), dtype_, rows.product, Out(a, Grad::kDh0), elements, queue));
}

absl::Status LstmLoop::Explain(uint64_t word) const { return ExplainLength(lengths_, sizes_.places, word); }

}  // namespace partita
