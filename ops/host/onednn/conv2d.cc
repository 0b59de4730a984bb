// conv2d and its gradients on oneDNN. One plan serves the three: which of x, w and y is computed is all that differs.
//
// oneDNN's fast convolutions take dense images alone. Of a part of a node, whose images lie in larger ones, the rows of
// one sample are dense, so its samples are computed one by one; where columns are cut off as well, the sample is copied
// from or to the workspace.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ops/host/kernel/parallel.h"
#include "ops/host/onednn/onednn_kernels.h"
#include "ops/host/onednn/onednn_program.h"
#include "ops/values/node_geometry.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Type = dnnl::memory::data_type;

Desc Nhwc(Type type, int64_t n, int64_t h, int64_t w, int64_t c) {
  return Desc({n, c, h, w}, type, {h * w * c, 1, w * c, c});
}

Dims WeightDims(const Convolution& conv) {
  const SlidingWindow& window = conv.window;
  if (conv.groups == 1) return {conv.images.out_c, conv.images.c, window.kernel_h, window.kernel_w};
  return {conv.groups, conv.group_out_c(), conv.group_c(), window.kernel_h, window.kernel_w};
}

// Our OHWI weights in oneDNN's order of dimensions.
Desc OhwiWeights(Type type, const Convolution& conv) {
  const int64_t i = 1, w = conv.group_c(), h = conv.window.kernel_w * w, o = conv.window.kernel_h * h;
  if (conv.groups == 1) return Desc(WeightDims(conv), type, {o, i, h, w});
  return Desc(WeightDims(conv), type, {conv.group_out_c() * o, o, i, h, w});
}

int64_t BytesOf(Type type) { return static_cast<int64_t>(dnnl::memory::data_type_size(type)); }

// A sample of images in larger ones.
struct Sample {
  Sample(Type type, const PixelMap& map, int64_t h, int64_t w, int64_t c)
      : dense(Nhwc(type, 1, h, w, c)),
        strided({1, c, h, w}, type, {map.rows * map.columns * c, 1, map.columns * c, c}),
        copied(w < map.columns),
        first(map.start * c * BytesOf(type)),
        stride(map.rows * map.columns * c * BytesOf(type)) {}

  int64_t copied_bytes() const { return copied ? AlignUp(static_cast<int64_t>(dense.get_size())) : 0; }

  Desc dense, strided;
  bool copied;
  int64_t first, stride;  // bytes: where the first sample begins, and from one sample to the next
};

// What oneDNN made of a convolution, without addresses.
struct Plan {
  Plan(Type type, const Convolution& conv, const dnnl::primitive_desc& descriptor, const Desc& weights,
       const Desc& bias = NoMemory())
      : descriptor(descriptor),
        x(Nhwc(type, conv.images.n, conv.images.h, conv.images.w, conv.images.c)),
        y(Nhwc(type, conv.images.n, conv.images.out_h, conv.images.out_w, conv.images.out_c)),
        user_weights(OhwiWeights(type, conv)),
        weights(weights),
        bias(bias),
        scratchpad(descriptor.scratchpad_desc()) {}

  bool reorders() const { return weights != user_weights; }
  int64_t reordered_bytes() const { return reorders() ? AlignUp(static_cast<int64_t>(weights.get_size())) : 0; }
  int64_t workspace_bytes() const { return reordered_bytes() + AlignUp(static_cast<int64_t>(scratchpad.get_size())); }

  dnnl::primitive_desc descriptor;
  Desc x, y, user_weights, weights, bias, scratchpad;
};

// A part of a node, sample by sample: `one` is the plan of one, made for `threads` threads (0: the stream's). Lanes of
// samples run side by side, so that threads meet once and not for every sample. The workspace is the weights', then
// for each lane oneDNN's and the two copies.
struct PartPlan {
  int64_t scratchpad_bytes() const { return AlignUp(static_cast<int64_t>(one.scratchpad.get_size())); }
  int64_t lane_bytes() const { return scratchpad_bytes() + x.copied_bytes() + y.copied_bytes(); }
  int64_t workspace_bytes() const { return one.reordered_bytes() + lanes * lane_bytes(); }

  Plan one;
  Sample x, y;
  int64_t samples;
  int64_t lanes;
  int threads;
};

enum class Role { kForward, kInputGrad, kWeightGrad };

// An epilogue is one of the forward convolution alone.
absl::StatusOr<Plan> MakePlan(Type type, const Convolution& conv, Role role, const NodeEpilogue& epilogue) {
  ASSIGN_OR_RETURN(const dnnl::primitive_attr attributes, UserScratchpadWith(epilogue));
  const SlidingWindow& window = conv.window;
  const Desc x = Nhwc(type, conv.images.n, conv.images.h, conv.images.w, conv.images.c);
  const Desc y = Nhwc(type, conv.images.n, conv.images.out_h, conv.images.out_w, conv.images.out_c);
  const Desc w(WeightDims(conv), type, dnnl::memory::format_tag::any);
  const Dims strides = {window.stride_h, window.stride_w};
  const Dims dilation = {window.dilation_h - 1, window.dilation_w - 1};
  const Dims before = {window.top, window.left}, after = {window.bottom, window.right};
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const dnnl::engine& engine = OneDnnEngine();
  const Desc bias = epilogue.bias ? Desc({conv.images.out_c}, Type::f32, Dims{1}) : NoMemory();
  const dnnl::convolution_forward::primitive_desc forward(engine, dnnl::prop_kind::forward_training, kDirect, x, w,
                                                          bias, y, strides, dilation, before, after, attributes);
  if (role == Role::kForward) return Plan(type, conv, forward, forward.weights_desc(), bias);
  if (role == Role::kInputGrad) {
    const dnnl::convolution_backward_data::primitive_desc backward(engine, kDirect, x, w, y, strides, dilation, before,
                                                                   after, forward, UserScratchpad());
    return Plan(type, conv, backward, backward.weights_desc());
  }
  const dnnl::convolution_backward_weights::primitive_desc backward(engine, kDirect, x, w, y, strides, dilation, before,
                                                                    after, forward, UserScratchpad());
  return Plan(type, conv, backward, backward.diff_weights_desc());
}

// The arguments of the three roles; x, w and y are at their places whichever of them is computed.
struct Addresses {
  void *x, *w, *y;
  void* bias = nullptr;  // of an epilogue
};

Addresses AddressesOf(const KernelArguments& a, Role role) {
  const auto input = [&](size_t i) { return const_cast<void*>(a.inputs[i]); };  // oneDNN has no const memories
  if (role == Role::kForward) return {input(0), input(1), a.outputs[0], const_cast<void*>(In<void>(a, 2))};
  if (role == Role::kInputGrad) return {a.outputs[0], input(1), input(0)};
  return {input(0), a.outputs[0], input(1)};
}

int ReorderThreads(const Desc& desc) { return static_cast<int64_t>(desc.get_size()) / 4 < kParallelElements ? 1 : 0; }

void AddReorder(OneDnnProgram& program, const Desc& from, const Desc& to, dnnl_memory_t source, dnnl_memory_t target,
                int threads) {
  const ThreadScope scope(threads);  // the primitive remembers for how many threads it was made
  const dnnl::reorder::primitive_desc descriptor(OneDnnEngine(), from, OneDnnEngine(), to);
  program.Add(dnnl::reorder(descriptor), {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}}, threads);
}

// The weights as the plan's primitive reads them.
dnnl_memory_t AddWeights(OneDnnProgram& program, const Plan& plan, void* weights, const KernelArguments& a) {
  const dnnl_memory_t user = program.Memory(plan.user_weights, weights);
  if (!plan.reorders()) return user;
  const dnnl_memory_t reordered = program.Memory(plan.weights, Scratch<void>(a));
  AddReorder(program, plan.user_weights, plan.weights, user, reordered, ReorderThreads(plan.weights));
  return reordered;
}

// The programs of a part: the weights first, then all lanes.
class PartProgram {
 public:
  PartProgram(const PartPlan& plan, const KernelArguments& a)
      : lanes_(static_cast<size_t>(plan.lanes)), results_(lanes_.size()) {
    const Addresses at = AddressesOf(a, Role::kForward);
    const dnnl_memory_t w = AddWeights(weights_, plan.one, at.w, a);
    const dnnl_memory_t bias = weights_.Memory(plan.one.bias, at.bias);
    const ThreadScope scope(plan.threads);
    const dnnl::primitive primitive(plan.one.descriptor.get());
    for (int64_t n = 0; n < plan.samples; ++n) AddSample(plan, a, n, primitive, w, bias);
  }

  absl::Status Run() {
    RETURN_IF_ERROR(weights_.Run());
    const auto run = [this](int64_t lane) { results_[lane] = lanes_[lane].Run(); };
    ParallelFor(static_cast<int64_t>(lanes_.size()), kParallelElements, run);
    for (const absl::Status& result : results_) RETURN_IF_ERROR(result);
    return absl::OkStatus();
  }

 private:
  void AddSample(const PartPlan& plan, const KernelArguments& a, int64_t n, const dnnl::primitive& primitive,
                 dnnl_memory_t w, dnnl_memory_t bias) {
    const int64_t lane = n * plan.lanes / plan.samples;
    OneDnnProgram& program = lanes_[lane];
    const int64_t scratch = plan.one.reordered_bytes() + lane * plan.lane_bytes();
    const int64_t copy_of_x = scratch + plan.scratchpad_bytes(), copy_of_y = copy_of_x + plan.x.copied_bytes();
    const Addresses at = AddressesOf(a, Role::kForward);
    void* const x = static_cast<char*>(at.x) + plan.x.first + n * plan.x.stride;
    void* const y = static_cast<char*>(at.y) + plan.y.first + n * plan.y.stride;
    const dnnl_memory_t dense_x = program.Memory(plan.x.dense, plan.x.copied ? Scratch<void>(a, copy_of_x) : x);
    const dnnl_memory_t dense_y = program.Memory(plan.y.dense, plan.y.copied ? Scratch<void>(a, copy_of_y) : y);
    const dnnl_memory_t scratchpad = program.Memory(plan.one.scratchpad, Scratch<void>(a, scratch));
    if (plan.x.copied) {
      const dnnl_memory_t strided = program.Memory(plan.x.strided, x);
      AddReorder(program, plan.x.strided, plan.x.dense, strided, dense_x, plan.threads);
    }
    program.Add(primitive,
                {{DNNL_ARG_SRC, dense_x},
                 {DNNL_ARG_WEIGHTS, w},
                 {DNNL_ARG_BIAS, bias},
                 {DNNL_ARG_DST, dense_y},
                 {DNNL_ARG_SCRATCHPAD, scratchpad}},
                plan.threads);
    if (plan.y.copied) {
      const dnnl_memory_t strided = program.Memory(plan.y.strided, y);
      AddReorder(program, plan.y.dense, plan.y.strided, dense_y, strided, plan.threads);
    }
  }

  OneDnnProgram weights_;
  std::vector<OneDnnProgram> lanes_;
  std::vector<absl::Status> results_;  // of the lanes
};

std::shared_ptr<OneDnnProgram> Bind(const Plan& plan, Role role, const KernelArguments& a) {
  auto program = std::make_shared<OneDnnProgram>();
  const Addresses at = AddressesOf(a, role);
  const dnnl_memory_t x = program->Memory(plan.x, at.x), y = program->Memory(plan.y, at.y);
  const dnnl_memory_t scratchpad = program->Memory(plan.scratchpad, Scratch<void>(a, plan.reordered_bytes()));
  dnnl_memory_t w = nullptr;
  if (role != Role::kWeightGrad) {
    w = AddWeights(*program, plan, at.w, a);
  } else {
    w = program->Memory(plan.weights, plan.reorders() ? Scratch<void>(a) : at.w);
  }
  const dnnl::primitive primitive(plan.descriptor.get());
  if (role == Role::kForward) {
    program->Add(primitive, {{DNNL_ARG_SRC, x},
                             {DNNL_ARG_WEIGHTS, w},
                             {DNNL_ARG_BIAS, program->Memory(plan.bias, at.bias)},
                             {DNNL_ARG_DST, y},
                             {DNNL_ARG_SCRATCHPAD, scratchpad}});
  } else if (role == Role::kInputGrad) {
    program->Add(
        primitive,
        {{DNNL_ARG_DIFF_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_SCRATCHPAD, scratchpad}});
  } else {
    program->Add(
        primitive,
        {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_SCRATCHPAD, scratchpad}});
    if (plan.reorders()) {
      AddReorder(*program, plan.weights, plan.user_weights, w, program->Memory(plan.user_weights, at.w),
                 ReorderThreads(plan.weights));
    }
  }
  return program;
}

absl::StatusOr<PreparedKernel> Prepare(const LocalNode& node, const Convolution& conv, Role role) {
  ASSIGN_OR_RETURN(const Type type, OneDnnType(node.outputs[0].dtype));
  if (conv.empty()) return InvalidArgument("the block is empty");
  return Guarded([&]() -> absl::StatusOr<PreparedKernel> {
    ASSIGN_OR_RETURN(const Plan plan, MakePlan(type, conv, role, EpilogueOf(node)));
    return PreparedKernel{plan.workspace_bytes(), [plan, role](const KernelArguments& a) {
                            return Guarded([&]() -> absl::StatusOr<Computation> {
                              return Computation([program = Bind(plan, role, a)] { return program->Run(); });
                            });
                          }};
  });
}

absl::StatusOr<PreparedKernel> PreparePart(const LocalNode& node) {
  ASSIGN_OR_RETURN(const Type type, OneDnnType(node.outputs[0].dtype));
  const Convolution conv = ForwardConvolution(node);
  if (conv.empty()) return InvalidArgument("the block is empty");
  return Guarded([&]() -> absl::StatusOr<PreparedKernel> {
    const Images& size = conv.images;
    constexpr int64_t kVector = 16;  // multiply-adds of an instruction
    const int64_t work = node.outputs[0].elements() * conv.weights() / size.out_c / kVector;
    const bool large = work >= kParallelElements;
    const int64_t lanes = large ? std::min<int64_t>(size.n, MaxThreads()) : 1;
    const int threads = large && size.n == 1 ? 0 : 1;
    Convolution sample = conv;
    sample.images.n = 1;
    const ThreadScope scope(threads);
    ASSIGN_OR_RETURN(Plan one, MakePlan(type, sample, Role::kForward, EpilogueOf(node)));
    const PartPlan plan{std::move(one),
                        Sample(type, conv.x, size.h, size.w, size.c),
                        Sample(type, conv.y, size.out_h, size.out_w, size.out_c),
                        size.n,
                        lanes,
                        threads};
    return PreparedKernel{
        plan.workspace_bytes(), [plan](const KernelArguments& a) {
          return Guarded([&]() -> absl::StatusOr<Computation> {
            return Computation([program = std::make_shared<PartProgram>(plan, a)] { return program->Run(); });
          });
        }};
  });
}

}  // namespace

absl::StatusOr<PreparedKernel> OneDnnConv2d(const LocalNode& node) {
  if (!node.within.empty()) return PreparePart(node);
  return Prepare(node, ForwardConvolution(node), Role::kForward);
}

absl::StatusOr<PreparedKernel> OneDnnConv2dInputGrad(const LocalNode& node) {
  return Prepare(node, InputGradConvolution(node), Role::kInputGrad);
}

absl::StatusOr<PreparedKernel> OneDnnConv2dWeightGrad(const LocalNode& node) {
  return Prepare(node, WeightGradConvolution(node), Role::kWeightGrad);
}

}  // namespace partita
