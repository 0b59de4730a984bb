#include "ops/cuda/cudnn/cudnn_graph.h"

#include <array>
#include <utility>

#include "graph/ir/op_definition.h"

namespace partita {
namespace {

using Direction = ConvolutionDirection;

// Of operands in their order; those of virtual tensors follow.
constexpr int64_t kFirstId = 1, kBiasId = 4, kFirstVirtualId = 5;

constexpr size_t kOutput = 2;

const LocalTensor& OperandOf(const LocalNode& node, size_t operand) {
  return operand < kOutput ? Input(node, operand) : node.outputs[0];
}

BlockPlace PlaceOf(const CudnnConvolution& d, size_t operand) {
  const LocalNode& node = *d.node;
  const LocalTensor& tensor = OperandOf(node, operand);
  if (node.within.empty()) return {tensor.shape()[1], tensor.shape()[2], 0, tensor.bytes()};
  const Box& memory = operand < kOutput ? node.within[operand] : node.within.back();
  const int64_t pixel = tensor.shape()[3] * SizeOf(tensor.dtype);
  const int64_t start = operand == 0 ? d.conv.x.start : operand == kOutput ? d.conv.y.start : 0;
  return {memory.size[1], memory.size[2], start * pixel, memory.elements() * SizeOf(tensor.dtype)};
}

// [n,h,w,c] and [o,p,q,k] alike: cuDNN names dimensions n,c,h,w, the strides say how they lie.
absl::StatusOr<CudnnDescriptor> Tensor(const CudnnApi& api, const CudnnConvolution& d, size_t operand) {
  const LocalTensor& tensor = OperandOf(*d.node, operand);
  const Shape& s = tensor.shape();
  const BlockPlace place = PlaceOf(d, operand);
  const int64_t id = kFirstId + static_cast<int64_t>(operand);
  const cudnnDataType_t type = tensor.dtype == DType::kBF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
  return CudnnBuilder(api, CUDNN_BACKEND_TENSOR_DESCRIPTOR, fmt::format("tensor {}", id))
      .Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .Set(CUDNN_ATTR_TENSOR_DIMENSIONS, {s[0], s[3], s[1], s[2]})
      .Set(CUDNN_ATTR_TENSOR_STRIDES, {place.rows * place.columns * s[3], 1, place.columns * s[3], s[3]})
      .Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
      .Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kCudnnAlignment)
      .Finalize();
}

absl::StatusOr<CudnnDescriptor> Bias(const CudnnApi& api, int64_t channels) {
  return CudnnBuilder(api, CUDNN_BACKEND_TENSOR_DESCRIPTOR, "the bias")
      .Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .Set(CUDNN_ATTR_TENSOR_DIMENSIONS, {1, channels, 1, 1})
      .Set(CUDNN_ATTR_TENSOR_STRIDES, {channels, 1, channels, channels})
      .Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, kBiasId)
      .Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kCudnnAlignment)
      .Finalize();
}

// As large as the output.
absl::StatusOr<CudnnDescriptor> Virtual(const CudnnApi& api, const Shape& y, int64_t id) {
  return CudnnBuilder(api, CUDNN_BACKEND_TENSOR_DESCRIPTOR, fmt::format("virtual tensor {}", id))
      .Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .Set(CUDNN_ATTR_TENSOR_DIMENSIONS, {y[0], y[3], y[1], y[2]})
      .Set(CUDNN_ATTR_TENSOR_STRIDES, {y[1] * y[2] * y[3], 1, y[2] * y[3], y[3]})
      .Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
      .Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kCudnnAlignment)
      .Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true)
      .Finalize();
}

absl::StatusOr<CudnnDescriptor> WindowOf(const CudnnApi& api, const SlidingWindow& w) {
  return CudnnBuilder(api, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "the window")
      .Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{2})
      .Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {w.top, w.left})
      .Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {w.bottom, w.right})
      .Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {w.dilation_h, w.dilation_w})
      .Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {w.stride_h, w.stride_w})
      .Finalize();
}

// What the graph's enumerations call the parts of an operation.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t first, second, output, window, alpha, beta;
};

const OperationNames& NamesOf(Direction direction) {
  static constexpr std::array<OperationNames, 3> kNames = {{
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
  }};
  return kNames[static_cast<size_t>(direction)];
}

// An element-wise op by its name. What cuDNN has no mode for follows as a launch of ours.
absl::StatusOr<cudnnPointwiseMode_t> ModeOf(const std::string& activation) {
  if (activation == "relu") return CUDNN_POINTWISE_RELU_FWD;
  return InvalidArgument("cuDNN has no {}", activation);
}

// Builds the operations one after the other; all descriptors live until the graph is final.
class GraphBuilder {
 public:
  GraphBuilder(const CudnnApi& api, const CudnnConvolution& convolution) : api_(api), d_(convolution) {}

  absl::StatusOr<CudnnDescriptor> Build(const CudnnTarget& target) {
    RETURN_IF_ERROR(MakeResults());
    RETURN_IF_ERROR(AddConvolution());
    if (d_.epilogue.bias) {
      ASSIGN_OR_RETURN(const CudnnDescriptor bias, Keep(Bias(api_, d_.conv.images.out_c)));
      RETURN_IF_ERROR(AddPointwise(CUDNN_POINTWISE_ADD, bias));
    }
    if (d_.epilogue.activation != kNoActivation) {
      ASSIGN_OR_RETURN(const cudnnPointwiseMode_t mode, ModeOf(d_.epilogue.activation_name()));
      RETURN_IF_ERROR(AddPointwise(mode, nullptr));
    }
    std::vector<cudnnBackendDescriptor_t> raw;
    for (const CudnnDescriptor& operation : operations_) raw.push_back(operation.get());
    CudnnBuilder graph(api_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "the graph");
    if (target.described == nullptr) graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
    return graph
        .Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raw.size()), raw.data())
        .Finalize();
  }

 private:
  absl::StatusOr<CudnnDescriptor> Keep(absl::StatusOr<CudnnDescriptor> made) {
    if (made.ok()) parts_.push_back(*made);
    return made;
  }

  // Of the operations, in their order: virtual tensors, and the output as the last one's.
  absl::Status MakeResults() {
    const int steps = (d_.epilogue.bias ? 1 : 0) + (d_.epilogue.activation != kNoActivation ? 1 : 0);
    for (int i = 0; i < steps; ++i) {
      ASSIGN_OR_RETURN(CudnnDescriptor result, Virtual(api_, d_.node->outputs[0].shape(), kFirstVirtualId + i));
      results_.push_back(std::move(result));
    }
    ASSIGN_OR_RETURN(CudnnDescriptor output, Tensor(api_, d_, kOutput));
    results_.push_back(std::move(output));
    return absl::OkStatus();
  }

  absl::Status AddConvolution() {
    ASSIGN_OR_RETURN(const CudnnDescriptor first, Keep(Tensor(api_, d_, 0)));
    ASSIGN_OR_RETURN(const CudnnDescriptor second, Keep(Tensor(api_, d_, 1)));
    ASSIGN_OR_RETURN(const CudnnDescriptor window, Keep(WindowOf(api_, d_.conv.window)));
    const OperationNames& names = NamesOf(d_.direction);
    ASSIGN_OR_RETURN(CudnnDescriptor convolution, CudnnBuilder(api_, names.type, "the convolution")
                                                      .Set(names.first, first)
                                                      .Set(names.second, second)
                                                      .Set(names.output, results_[0])
                                                      .Set(names.window, window)
                                                      .Set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f)
                                                      .Set(names.beta, CUDNN_TYPE_FLOAT, 0.0f)
                                                      .Finalize());
    operations_.push_back(std::move(convolution));
    return absl::OkStatus();
  }

  // mode(x), or mode(x, b) if there is a b, of the last result.
  absl::Status AddPointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& b) {
    const size_t step = operations_.size();
    ASSIGN_OR_RETURN(const CudnnDescriptor what,
                     Keep(CudnnBuilder(api_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "an operation on elements")
                              .Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
                              .Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
                              .Finalize()));
    CudnnBuilder builder(api_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "a step of the epilogue");
    builder.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what);
    builder.Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, results_[step - 1]);
    if (b != nullptr) builder.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    ASSIGN_OR_RETURN(CudnnDescriptor operation,
                     builder.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, results_[step]).Finalize());
    operations_.push_back(std::move(operation));
    return absl::OkStatus();
  }

  const CudnnApi& api_;
  const CudnnConvolution& d_;
  std::vector<CudnnDescriptor> parts_, results_, operations_;
};

}  // namespace

std::vector<BlockPlace> CudnnConvolution::Places() const {
  std::vector<BlockPlace> places;
  for (size_t operand = 0; operand <= kOutput; ++operand) places.push_back(PlaceOf(*this, operand));
  if (epilogue.bias) places.push_back({1, 1, 0, Input(*node, 2).bytes()});
  return places;
}

std::string CudnnConvolution::Name() const {
  if (direction == Direction::kInputGrad) return "conv2d_input_grad";  // a term of a sum is one
  if (direction == Direction::kWeightGrad) return "conv2d_weight_grad";
  const std::string activation = epilogue.activation_name();
  return std::string("conv2d") + (epilogue.bias ? "+bias" : "") + (activation.empty() ? "" : "+" + activation);
}

absl::StatusOr<CudnnConvolution> DescribeConvolution(const LocalNode& node) {
  const std::string& op = node.op->name;
  const DType dtype = node.outputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kBF16) {
    return InvalidArgument("dtype is {}, allowed are f32 and bf16", Name(dtype));
  }
  CudnnConvolution description{Direction::kForward, {}, {}, &node};
  if (op == "conv2d_input_grad" || op == "conv2d_input_grad_sum") {
    if (node.inputs.size() > 2) return InvalidArgument("{} terms, allowed is one", node.inputs.size() / 2);
    description.direction = Direction::kInputGrad;
    description.conv = InputGradConvolution(node);
  } else if (op == "conv2d_weight_grad") {
    description.direction = Direction::kWeightGrad;
    description.conv = WeightGradConvolution(node);
  } else {
    description.conv = ForwardConvolution(node);
    description.epilogue = EpilogueOf(node);
  }
  if (description.conv.empty()) return InvalidArgument("an image or a filter is empty");
  if (node.within.empty()) return description;
  for (const LocalTensor* images : {&Input(node, 0), &node.outputs[0]}) {
    const int64_t pixel = images->shape()[3] * SizeOf(dtype);
    if (pixel % kCudnnAlignment != 0) return InvalidArgument("a part of images whose pixels have {} bytes", pixel);
  }
  return description;
}

absl::StatusOr<CudnnDescriptor> GraphOf(const CudnnApi& api, const CudnnTarget& target,
                                        const CudnnConvolution& convolution) {
  return GraphBuilder(api, convolution).Build(target);
}

absl::StatusOr<CudnnDescriptor> PackOf(const CudnnApi& api, const std::vector<void*>& operands, void* workspace) {
  std::vector<int64_t> ids;
  for (size_t i = 0; i < operands.size(); ++i) ids.push_back(kFirstId + static_cast<int64_t>(i));
  return CudnnBuilder(api, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "the addresses")
      .Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(operands.size()),
           operands.data())
      .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace)
      .Finalize();
}

}  // namespace partita
