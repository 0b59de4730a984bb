#include "ops/cuda/cudnn/cudnn_convolution.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/cuda/cudnn/cudnn_engines.h"
#include "ops/cuda/cudnn/cudnn_graph.h"
#include "ops/cuda/kernel/loading_queue.h"
#include "ops/cuda/launch/contraction.h"
#include "ops/cuda/launch/copies.h"
#include "ops/cuda/own/own_kernels.h"

namespace partita {

struct ConvolutionPlan {
  CudnnPlan plan;
  bool fused = false;  // computes the epilogue; else a launch of our own does, if there is one
  double seconds = 0;  // 0: not timed
  int tried = 0;       // plans from which it was chosen by time
  int skipped = 0;     // and how many more there were
};

namespace {

// What is kept for a convolution with an epilogue of which it is known that both are best computed apart.
constexpr const char* kApart = "apart";

// What ranks must compute alike is deterministic in any case.
EngineRules RulesFor(const LocalNode& node, const CudnnOptions& options) {
  return {options.allow_tf32 || node.outputs[0].dtype == DType::kBF16, options.deterministic || node.replicated};
}

bool IsTimed(const CudnnOptions& options) { return !options.deterministic && options.timer != nullptr; }

// Everything that decides about a plan: one line.
std::string Key(const CudnnConvolution& d, const CudnnOptions& options, size_t version) {
  const SlidingWindow& w = d.conv.window;
  const Images& s = d.conv.images;
  const std::vector<BlockPlace> places = d.Places();
  return fmt::format(
      "cudnn {} {} {} {} nhwc {}x{}x{}x{} to {}x{}x{} kernel {}x{} stride {}x{} dilation {}x{} padding {},{},{},{} "
      "groups {} in {}x{} and {}x{} aligned {} tf32 {:d} deterministic {:d} timed {:d}",
      version, options.device, d.Name(), Name(d.node->outputs[0].dtype), s.n, s.h, s.w, s.c, s.out_h, s.out_w, s.out_c,
      w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h, w.dilation_w, w.top, w.bottom, w.left, w.right,
      d.conv.groups, places[0].rows, places[0].columns, places[2].rows, places[2].columns, kCudnnAlignment,
      options.allow_tf32, RulesFor(*d.node, options).deterministic, IsTimed(options));
}

absl::Status Execute(const CudnnApi& api, cudnnHandle_t handle, const CudnnDescriptor& plan,
                     const CudnnDescriptor& pack, CudaQueue queue) {
  CUstream_st* const stream = queue->BeginWork();
  if (stream == nullptr) return LaunchStatus(LaunchError::kQueue);
  if (LoadingQueue::Gave(stream)) return absl::OkStatus();
  RETURN_IF_ERROR(CudnnStatus(api, api.cudnnSetStream(handle, stream), "cudnnSetStream"));
  return CudnnStatus(api, api.cudnnBackendExecute(handle, plan.get(), pack.get()), "cudnnBackendExecute");
}

// What a node needs at run time: without its names and types.
struct Work {
  explicit Work(const CudnnConvolution& d)
      : conv(d.conv), epilogue(d.epilogue), dtype(d.node->outputs[0].dtype), places(d.Places()) {}

  // Where the blocks begin of which `memory` is the operands'.
  std::vector<void*> Blocks(const std::vector<void*>& memory) const {
    std::vector<void*> blocks;
    for (size_t i = 0; i < places.size(); ++i) blocks.push_back(static_cast<char*>(memory[i]) + places[i].first_byte);
    return blocks;
  }

  Convolution conv;
  NodeEpilogue epilogue;
  DType dtype;
  std::vector<BlockPlace> places;
};

// The plan on `memory` of its operands, and the epilogue if that is not a part of it. Allocates nothing when enqueued.
absl::StatusOr<CudaEnqueue> Bound(const CudnnApi& api, cudnnHandle_t handle, const ConvolutionPlan& plan,
                                  const Work& work, const std::vector<void*>& memory, void* workspace) {
  std::vector<void*> blocks = work.Blocks(memory);
  if (!plan.fused) blocks.resize(3);
  ASSIGN_OR_RETURN(const CudnnDescriptor pack, PackOf(api, blocks, workspace));
  const bool apart = work.epilogue.any() && !plan.fused;
  const launch::EpilogueLaunch epilogue{work.epilogue.bias ? memory[3] : nullptr, work.epilogue.activation};
  return CudaEnqueue([&api, handle, descriptor = plan.plan.descriptor, pack, apart, epilogue, conv = work.conv,
                      dtype = work.dtype, y = memory[2]](CudaQueue queue) -> absl::Status {
    RETURN_IF_ERROR(Execute(api, handle, descriptor, pack, queue));
    return apart ? LaunchStatus(launch::AddEpilogue(dtype, conv, epilogue, y, queue)) : absl::OkStatus();
  });
}

PlanToTime ToTime(const CudnnApi& api, cudnnHandle_t handle, const ConvolutionPlan& plan, const Work& work) {
  std::vector<int64_t> begins;
  int64_t bytes = 0;
  for (const BlockPlace& place : work.places) {
    begins.push_back(bytes);
    bytes += (place.memory_bytes + 255) / 256 * 256;
  }
  const auto run = [&api, handle, plan, work, begins, bytes](char* memory, CudaQueue queue) -> absl::Status {
    std::vector<void*> operands;
    for (const int64_t begin : begins) operands.push_back(memory + begin);
    ASSIGN_OR_RETURN(const CudaEnqueue enqueue, Bound(api, handle, plan, work, operands, memory + bytes));
    return enqueue(queue);
  };
  return {bytes + plan.plan.workspace_bytes, run};
}

absl::StatusOr<ConvolutionPlan> Fastest(const CudnnApi& api, cudnnHandle_t handle, std::vector<CudnnPlan> plans,
                                        const Work& work, const PlanTimer& timer) {
  std::vector<ConvolutionPlan> candidates;
  std::vector<PlanToTime> to_time;
  for (CudnnPlan& plan : plans) {
    candidates.push_back({std::move(plan), work.epilogue.any()});
    to_time.push_back(ToTime(api, handle, candidates.back(), work));
  }
  ASSIGN_OR_RETURN(const FastestPlan fastest, FindFastest(timer, to_time));
  candidates[fastest.place].seconds = fastest.seconds;
  return std::move(candidates[fastest.place]);
}

// Empty: nothing was left out.
std::string RemarkOn(const ConvolutionPlan& plan) {
  if (plan.skipped == 0) return "";
  return fmt::format("{} of {} cuDNN plans tried; no time was left for more", plan.tried, plan.tried + plan.skipped);
}

absl::StatusOr<PreparedCudaKernel> Reference(const LocalNode& node, ConvolutionDirection direction) {
  if (direction == ConvolutionDirection::kForward) return CudaConv2d(node);
  return direction == ConvolutionDirection::kInputGrad ? CudaConv2dInputGrad(node) : CudaConv2dWeightGrad(node);
}

bool IsAligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % kCudnnAlignment == 0; }

// Of a plan's blocks; what an epilogue apart reads may lie anywhere.
bool AreAligned(const ConvolutionPlan& plan, const std::vector<void*>& blocks) {
  return IsAligned(blocks[0]) && IsAligned(blocks[1]) && IsAligned(blocks[2]) &&
         (!plan.fused || blocks.size() <= 3 || IsAligned(blocks[3]));
}

// The place in the workspace where a gradient is computed that may lie anywhere, behind the plan's own bytes. Only one
// of weights may, as a member of a bucket, and only if its size is no multiple of 16 bytes: members that are such
// multiples begin at them (graph/lower/moves/lower_moves.h). Padding for the others would be sent with every bucket;
// their copy is small, and the address at hand decides whether there is one.
struct Detour {
  Detour(const CudnnConvolution& d, const ConvolutionPlan& plan)
      : first_byte((plan.plan.workspace_bytes + kCudnnAlignment - 1) / kCudnnAlignment * kCudnnAlignment),
        bytes(d.node->outputs[0].bytes()),
        possible(d.direction == ConvolutionDirection::kWeightGrad && bytes % kCudnnAlignment != 0) {}

  bool needed(const void* output) const { return possible && !IsAligned(output); }

  int64_t first_byte, bytes;
  bool possible;
};

int64_t WorkspaceBytes(const ConvolutionPlan& plan, const Detour& detour) {
  return detour.possible ? detour.first_byte + detour.bytes : plan.plan.workspace_bytes;
}

// What `enqueue` computes at `from` comes to `to` behind it.
CudaEnqueue ThenCopy(CudaEnqueue enqueue, void* to, const void* from, int64_t bytes) {
  return [enqueue = std::move(enqueue), to, from, bytes](CudaQueue queue) -> absl::Status {
    RETURN_IF_ERROR(enqueue(queue));
    return LaunchStatus(launch::CopyRun(to, from, bytes, queue));
  };
}

}  // namespace

absl::StatusOr<std::shared_ptr<CudnnConvolutions>> CudnnConvolutions::Create(const CudnnApi& api, CudnnOptions options,
                                                                             PlanCache* cache) {
  std::shared_ptr<CudnnConvolutions> convolutions(new CudnnConvolutions(api, std::move(options), cache));
  RETURN_IF_ERROR(CudnnStatus(api, api.cudnnCreate(&convolutions->target_.handle), "cudnnCreate"));
  return convolutions;
}

absl::StatusOr<std::shared_ptr<CudnnConvolutions>> CudnnConvolutions::CreateDescribed(const CudnnApi& api,
                                                                                      CudnnOptions options,
                                                                                      const std::string& gpu,
                                                                                      PlanCache* cache) {
  std::shared_ptr<CudnnConvolutions> convolutions(new CudnnConvolutions(api, std::move(options), cache));
  ASSIGN_OR_RETURN(convolutions->target_, DescribedTarget(api, gpu));
  return convolutions;
}

CudnnConvolutions::~CudnnConvolutions() {
  plans_.clear();
  if (target_.handle != nullptr) api_.cudnnDestroy(target_.handle);
}

absl::StatusOr<CudnnConvolutions::SharedPlan> CudnnConvolutions::FindPlan(const CudnnConvolution& convolution) {
  const std::string key = Key(convolution, options_, api_.cudnnGetVersion());
  SharedPlan& kept = plans_[key];
  if (kept != nullptr) return kept;
  absl::StatusOr<SharedPlan> made = MakePlan(convolution, key);
  if (convolution.epilogue.any() && (!made.ok() || (*made)->seconds > 0)) made = OrApart(convolution, key, made);
  RETURN_IF_ERROR(made.status());
  const bool has_run = (*made)->seconds > 0;
  if (options_.load && !has_run) {
    RETURN_IF_ERROR(options_.load(ToTime(api_, target_.handle, **made, Work(convolution))));
  }
  return kept = *made;
}

absl::StatusOr<CudnnConvolutions::SharedPlan> CudnnConvolutions::OrApart(const CudnnConvolution& convolution,
                                                                         const std::string& key,
                                                                         const absl::StatusOr<SharedPlan>& fused) {
  absl::StatusOr<SharedPlan> apart = FindPlan(convolution.Product());
  if (!apart.ok()) return fused.ok() ? fused : apart;
  if (fused.ok()) {
    const absl::StatusOr<FastestPlan> timed =
        FindFastest(options_.timer, {ToTime(api_, target_.handle, **apart, Work(convolution))});
    if (!timed.ok() || timed->seconds >= (*fused)->seconds) return fused;
  }
  // What failed for another reason than that no engine takes it is tried again by the next run.
  if (fused.ok() || absl::IsInvalidArgument(fused.status())) cache_->Add(key, kApart);
  return apart;
}

absl::StatusOr<CudnnConvolutions::SharedPlan> CudnnConvolutions::MakePlan(const CudnnConvolution& convolution,
                                                                          const std::string& key) {
  auto result = std::make_shared<ConvolutionPlan>();
  result->fused = convolution.epilogue.any();
  if (const std::optional<std::string> kept = cache_->Find(key); kept.has_value()) {
    if (result->fused && *kept == kApart) return InvalidArgument("the epilogue is computed apart");
    absl::StatusOr<CudnnPlan> plan = ReadPlan(api_, target_, *kept);
    if (plan.ok()) {
      result->plan = *std::move(plan);
      return SharedPlan(result);
    }
    cache_->Refuse(key, std::string(plan.status().message()));
  }
  ASSIGN_OR_RETURN(const CudnnDescriptor graph, GraphOf(api_, target_, convolution));
  if (IsTimed(options_)) {
    ASSIGN_OR_RETURN(*result, MakeTimedPlan(convolution, graph));
  } else {
    ASSIGN_OR_RETURN(result->plan, FirstPlan(api_, target_, graph, RulesFor(*convolution.node, options_)));
  }
  if (const absl::StatusOr<std::string> text = WritePlan(api_, result->plan); text.ok()) cache_->Add(key, *text);
  return SharedPlan(result);
}

absl::StatusOr<ConvolutionPlan> CudnnConvolutions::MakeTimedPlan(const CudnnConvolution& convolution,
                                                                 const CudnnDescriptor& graph) {
  const PlanningLimits& limits = options_.limits;
  const double begin = limits.clock();
  const auto enough = [&] {
    const double spent = limits.clock() - begin;
    return spent >= limits.seconds_each || spent_ + spent >= limits.seconds_in_all;
  };
  ASSIGN_OR_RETURN(CudnnCandidates candidates,
                   FindCandidates(api_, target_, graph, RulesFor(*convolution.node, options_),
                                  {.most = kTimedPlans, .enough = enough}));
  ConvolutionPlan plan;
  const int tried = static_cast<int>(candidates.plans.size());
  if (tried == 1 && candidates.skipped > 0) {
    plan = {std::move(candidates.plans[0]), convolution.epilogue.any()};
  } else {
    ASSIGN_OR_RETURN(plan,
                     Fastest(api_, target_.handle, std::move(candidates.plans), Work(convolution), options_.timer));
  }
  plan.tried = tried;
  plan.skipped = candidates.skipped;
  Spend(limits.clock() - begin);
  return plan;
}

void CudnnConvolutions::Spend(double seconds) {
  const double most = options_.limits.seconds_in_all;
  const bool was_left = spent_ < most;
  spent_ += seconds;
  if (!was_left || spent_ < most || !options_.tell) return;
  options_.tell(
      fmt::format("cuDNN: choosing plans by time has taken {:.0f} s; further convolutions get the first plan that "
                  "the library names",
                  spent_));
}

absl::StatusOr<PreparedCudaKernel> CudnnConvolutions::Prepare(const LocalNode& node) {
  ASSIGN_OR_RETURN(const CudnnConvolution description, DescribeConvolution(node));
  ASSIGN_OR_RETURN(const PreparedCudaKernel reference, Reference(node, description.direction));
  SharedPlan plan;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ASSIGN_OR_RETURN(plan, FindPlan(description));
  }
  const Detour detour(description, *plan);
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = std::max(WorkspaceBytes(*plan, detour), reference.workspace_bytes);
  kernel.deterministic = plan->plan.deterministic;
  kernel.remark = RemarkOn(*plan);
  kernel.engine = [self = shared_from_this(), plan] { return DescribeEngine(self->api_, plan->plan).value_or(""); };
  kernel.library_launches = description.epilogue.any() && !plan->fused ? 2 : 1;
  kernel.bind = [self = shared_from_this(), plan, reference, detour,
                 work = Work(description)](const KernelArguments& a) -> absl::StatusOr<CudaEnqueue> {
    if (self->target_.described != nullptr) return Unavailable("the kernel's GPU is described, it is not here");
    std::vector<void*> memory = {const_cast<void*>(In(a, 0)), const_cast<void*>(In(a, 1)), Out(a, 0)};
    if (work.epilogue.bias) memory.push_back(const_cast<void*>(In(a, 2)));
    const bool detours = detour.needed(memory[2]);
    if (detours) memory[2] = static_cast<char*>(a.workspace) + detour.first_byte;
    if (!AreAligned(*plan, work.Blocks(memory))) return reference.bind(a);
    ASSIGN_OR_RETURN(CudaEnqueue enqueue, Bound(self->api_, self->target_.handle, *plan, work, memory, a.workspace));
    if (detours) enqueue = ThenCopy(std::move(enqueue), Out(a, 0), memory[2], detour.bytes);
    return CudaEnqueue([self, enqueue = std::move(enqueue)](CudaQueue queue) { return enqueue(queue); });
  };
  return kernel;
}

}  // namespace partita
