#include "ops/cuda/cudnn_convolution.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "graph/op_definition.h"
#include "ops/cuda/cudnn_engines.h"
#include "ops/cuda/own_kernels.h"

namespace partita {

struct ConvolutionPlan {
  CudnnPlan plan;
  bool any_output_address = false;  // else the output too lies at a multiple of 16 bytes
};

namespace {

enum class Direction { kForward, kInputGrad, kWeightGrad };

// A gradient of weights may be a view in a bucket, at any address; all else lies at multiples of 16 bytes.
constexpr int64_t kAlignment = 16;

// Where a tensor's block lies in its memory, which a part of a node fills in part (LocalNode::within).
struct BlockPlace {
  int64_t rows = 0, columns = 0;  // of the memory
  int64_t first_byte = 0;
  int64_t memory_bytes = 0;
};

// Of the inputs and the output.
using BlockPlaces = std::array<BlockPlace, 3>;

struct Description {
  Direction direction;
  Convolution conv;
  const LocalNode* node;

  BlockPlace Place(size_t argument) const {
    const LocalTensor& tensor = argument < 2 ? Input(*node, argument) : node->outputs[0];
    if (node->within.empty()) return {tensor.shape()[1], tensor.shape()[2], 0, tensor.bytes()};
    const Box& memory = node->within[argument];
    const int64_t pixel = tensor.shape()[3] * SizeOf(tensor.dtype);
    const int64_t start = argument == 0 ? conv.x.start : argument == 2 ? conv.y.start : 0;
    return {memory.size[1], memory.size[2], start * pixel, memory.elements() * SizeOf(tensor.dtype)};
  }
  BlockPlaces Places() const { return {Place(0), Place(1), Place(2)}; }
};

absl::StatusOr<Description> Describe(const LocalNode& node) {
  const std::string& op = node.op->name;
  const DType dtype = node.outputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kBF16) {
    return InvalidArgument("dtype is {}, allowed are f32 and bf16", Name(dtype));
  }
  Description description{Direction::kForward, {}, &node};
  if (op == "conv2d") {
    description.conv = ForwardConvolution(node);
  } else if (op == "conv2d_input_grad") {
    description.direction = Direction::kInputGrad;
    description.conv = InputGradConvolution(node);
  } else {
    description.direction = Direction::kWeightGrad;
    description.conv = WeightGradConvolution(node);
  }
  if (description.conv.empty()) return InvalidArgument("an image or a filter is empty");
  if (node.within.empty()) return description;
  for (const LocalTensor* images : {&Input(node, 0), &node.outputs[0]}) {
    const int64_t pixel = images->shape()[3] * SizeOf(dtype);
    if (pixel % kAlignment != 0) return InvalidArgument("a part of images whose pixels have {} bytes", pixel);
  }
  return description;
}

// What ranks must compute alike is deterministic in any case.
EngineRules RulesFor(const LocalNode& node, const CudnnOptions& options) {
  return {options.allow_tf32 || node.outputs[0].dtype == DType::kBF16, options.deterministic || node.replicated};
}

bool IsTimed(const CudnnOptions& options) { return !options.deterministic && options.timer != nullptr; }

// Everything that decides about a plan: one line.
std::string Key(const Description& d, const CudnnOptions& options, size_t version) {
  const SlidingWindow& w = d.conv.window;
  const Images& s = d.conv.images;
  return fmt::format(
      "cudnn {} {} {} {} nhwc {}x{}x{}x{} to {}x{}x{} kernel {}x{} stride {}x{} dilation {}x{} padding {},{},{},{} "
      "groups {} in {}x{} and {}x{} tf32 {:d} deterministic {:d} timed {:d}",
      version, options.device, d.node->op->name, Name(d.node->outputs[0].dtype), s.n, s.h, s.w, s.c, s.out_h, s.out_w,
      s.out_c, w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h, w.dilation_w, w.top, w.bottom, w.left,
      w.right, d.conv.groups, d.Place(0).rows, d.Place(0).columns, d.Place(2).rows, d.Place(2).columns,
      options.allow_tf32, RulesFor(*d.node, options).deterministic, IsTimed(options));
}

// The arguments of a node have the ids 1 and 2 (inputs) and 3 (output).
constexpr std::array<int64_t, 3> kIds = {1, 2, 3};

// [n,h,w,c] and [o,p,q,k] alike: cuDNN names dimensions n,c,h,w, the strides say how they lie.
absl::StatusOr<CudnnDescriptor> Tensor(const CudnnApi& api, const Description& d, size_t argument, int64_t alignment) {
  const LocalTensor& tensor = argument < 2 ? Input(*d.node, argument) : d.node->outputs[0];
  const Shape& s = tensor.shape();
  const BlockPlace place = d.Place(argument);
  const int64_t id = kIds[argument];
  const cudnnDataType_t type = tensor.dtype == DType::kBF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
  return CudnnBuilder(api, CUDNN_BACKEND_TENSOR_DESCRIPTOR, fmt::format("tensor {}", id))
      .Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .Set(CUDNN_ATTR_TENSOR_DIMENSIONS, {s[0], s[3], s[1], s[2]})
      .Set(CUDNN_ATTR_TENSOR_STRIDES, {place.rows * place.columns * s[3], 1, place.columns * s[3], s[3]})
      .Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id)
      .Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment)
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

absl::StatusOr<CudnnDescriptor> GraphOf(const CudnnApi& api, cudnnHandle_t handle, const Description& d) {
  const OperationNames& names = NamesOf(d.direction);
  const int64_t element = SizeOf(d.node->outputs[0].dtype);
  const int64_t output_alignment = d.direction == Direction::kWeightGrad ? element : kAlignment;
  ASSIGN_OR_RETURN(const CudnnDescriptor first, Tensor(api, d, 0, kAlignment));
  ASSIGN_OR_RETURN(const CudnnDescriptor second, Tensor(api, d, 1, kAlignment));
  ASSIGN_OR_RETURN(const CudnnDescriptor output, Tensor(api, d, 2, output_alignment));
  ASSIGN_OR_RETURN(const CudnnDescriptor window, WindowOf(api, d.conv.window));
  ASSIGN_OR_RETURN(const CudnnDescriptor operation, CudnnBuilder(api, names.type, "the convolution")
                                                        .Set(names.first, first)
                                                        .Set(names.second, second)
                                                        .Set(names.output, output)
                                                        .Set(names.window, window)
                                                        .Set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f)
                                                        .Set(names.beta, CUDNN_TYPE_FLOAT, 0.0f)
                                                        .Finalize());
  return CudnnBuilder(api, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "the graph")
      .Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle)
      .Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)
      .Finalize();
}

absl::StatusOr<CudnnDescriptor> PackOf(const CudnnApi& api, const std::array<void*, 3>& addresses, void* workspace) {
  return CudnnBuilder(api, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "the addresses")
      .Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, kIds.size(), kIds.data())
      .Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses.size(), addresses.data())
      .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace)
      .Finalize();
}

absl::Status Execute(const CudnnApi& api, cudnnHandle_t handle, const CudnnDescriptor& plan,
                     const CudnnDescriptor& pack, CudaQueue queue) {
  CUstream_st* const stream = queue->BeginWork();
  if (stream == nullptr) return LaunchStatus(LaunchError::kQueue);
  RETURN_IF_ERROR(CudnnStatus(api, api.cudnnSetStream(handle, stream), "cudnnSetStream"));
  return CudnnStatus(api, api.cudnnBackendExecute(handle, plan.get(), pack.get()), "cudnnBackendExecute");
}

// Where the blocks begin of which `memory` is the tensors'.
std::array<void*, 3> BlocksIn(const std::array<void*, 3>& memory, const BlockPlaces& places) {
  std::array<void*, 3> blocks{};
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<char*>(memory[i]) + places[i].first_byte;
  return blocks;
}

// Seconds of a plan on memory of its own.
absl::StatusOr<double> Time(const CudnnApi& api, cudnnHandle_t handle, const BlockPlaces& places, const CudnnPlan& plan,
                            const PlanTimer& timer) {
  const auto round = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
  const int64_t first = round(places[0].memory_bytes), second = round(places[1].memory_bytes);
  const int64_t output = round(places[2].memory_bytes);
  return timer(first + second + output + plan.workspace_bytes, [&](char* memory, CudaQueue queue) -> absl::Status {
    const std::array<void*, 3> addresses = BlocksIn({memory, memory + first, memory + first + second}, places);
    ASSIGN_OR_RETURN(const CudnnDescriptor pack, PackOf(api, addresses, memory + first + second + output));
    return Execute(api, handle, plan.descriptor, pack, queue);
  });
}

absl::StatusOr<PreparedCudaKernel> Reference(const LocalNode& node, Direction direction) {
  if (direction == Direction::kForward) return CudaConv2d(node);
  return direction == Direction::kInputGrad ? CudaConv2dInputGrad(node) : CudaConv2dWeightGrad(node);
}

bool IsAligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % kAlignment == 0; }

}  // namespace

absl::StatusOr<std::shared_ptr<CudnnConvolutions>> CudnnConvolutions::Create(const CudnnApi& api, CudnnOptions options,
                                                                             PlanCache* cache) {
  std::shared_ptr<CudnnConvolutions> convolutions(new CudnnConvolutions(api, std::move(options), cache));
  RETURN_IF_ERROR(CudnnStatus(api, api.cudnnCreate(&convolutions->handle_), "cudnnCreate"));
  return convolutions;
}

CudnnConvolutions::~CudnnConvolutions() {
  plans_.clear();
  if (handle_ != nullptr) api_.cudnnDestroy(handle_);
}

absl::StatusOr<std::shared_ptr<const ConvolutionPlan>> CudnnConvolutions::MakePlan(const LocalNode& node,
                                                                                   const std::string& key) {
  ASSIGN_OR_RETURN(const Description description, Describe(node));
  auto result = std::make_shared<ConvolutionPlan>();
  result->any_output_address = description.direction == Direction::kWeightGrad;
  if (const std::optional<std::string> kept = cache_->Find(key); kept.has_value()) {
    absl::StatusOr<CudnnPlan> plan = ReadPlan(api_, handle_, *kept);
    if (plan.ok()) {
      result->plan = *std::move(plan);
      return std::shared_ptr<const ConvolutionPlan>(result);
    }
    cache_->Refuse(key, std::string(plan.status().message()));
  }
  ASSIGN_OR_RETURN(const CudnnDescriptor graph, GraphOf(api_, handle_, description));
  const bool timed = IsTimed(options_);
  ASSIGN_OR_RETURN(std::vector<CudnnPlan> plans,
                   FindPlans(api_, handle_, graph, RulesFor(node, options_), timed ? kTimedPlans : 1));
  double best = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    double seconds = 0;
    if (timed) {
      const absl::StatusOr<double> measured = Time(api_, handle_, description.Places(), plans[i], options_.timer);
      if (!measured.ok()) continue;
      seconds = *measured;
    }
    if (result->plan.descriptor != nullptr && seconds >= best) continue;
    best = seconds;
    result->plan = plans[i];
  }
  if (result->plan.descriptor == nullptr) return Unavailable("none of {} plans could be timed", plans.size());
  if (const absl::StatusOr<std::string> text = WritePlan(api_, result->plan); text.ok()) cache_->Add(key, *text);
  return std::shared_ptr<const ConvolutionPlan>(result);
}

absl::StatusOr<PreparedCudaKernel> CudnnConvolutions::Prepare(const LocalNode& node) {
  ASSIGN_OR_RETURN(const Description description, Describe(node));
  ASSIGN_OR_RETURN(const PreparedCudaKernel reference, Reference(node, description.direction));
  const std::string key = Key(description, options_, api_.cudnnGetVersion());
  std::shared_ptr<const ConvolutionPlan> plan;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<const ConvolutionPlan>& kept = plans_[key];
    if (kept == nullptr) {
      ASSIGN_OR_RETURN(kept, MakePlan(node, key));
    }
    plan = kept;
  }
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = std::max(plan->plan.workspace_bytes, reference.workspace_bytes);
  kernel.deterministic = plan->plan.deterministic;
  kernel.bind = [self = shared_from_this(), plan, reference,
                 places = description.Places()](const KernelArguments& a) -> absl::StatusOr<CudaEnqueue> {
    const std::array<void*, 3> blocks =
        BlocksIn({const_cast<void*>(In(a, 0)), const_cast<void*>(In(a, 1)), Out(a, 0)}, places);
    const bool aligned =
        IsAligned(blocks[0]) && IsAligned(blocks[1]) && (plan->any_output_address || IsAligned(blocks[2]));
    return aligned ? self->Bind(plan, blocks, a.workspace) : reference.bind(a);
  };
  return kernel;
}

absl::StatusOr<CudaEnqueue> CudnnConvolutions::Bind(const std::shared_ptr<const ConvolutionPlan>& plan,
                                                    const std::array<void*, 3>& blocks, void* workspace) {
  ASSIGN_OR_RETURN(const CudnnDescriptor pack, PackOf(api_, blocks, workspace));
  return CudaEnqueue([self = shared_from_this(), plan, pack](CudaQueue queue) {
    return Execute(self->api_, self->handle_, plan->plan.descriptor, pack, queue);
  });
}

}  // namespace partita
