// Convolution, with or without an epilogue, and its two gradients on cuDNN's graph (cudnn_graph.h): f32 (TF32 where it
// is allowed) and bf16 with f32 sums, NHWC images, OHWI weights, groups, strides, dilations, a padding for each side.
//
// A plan is the first that the library's heuristics name, of those that keep to the rules: no sums in less than f32, no
// TF32 and no rounded inputs of f32 where they are not allowed, none that is not deterministic where results must
// repeat (the option, or a node that several ranks compute alike). Without the option the first few of each of the
// library's lists may be timed (CudnnOptions::timer) and the fastest wins; where that takes too long (PlanningLimits),
// fewer are, which the kernel's remark says. A plan is kept by a text of the library's own (PlanCache).
//
// Bias and relu are a part of the plan where an engine takes them. Else (f32 without TF32, mostly), or where that is
// timed and faster, the convolution's own plan is followed by one launch of ours. cuDNN may make a zero of a NaN in
// relu; ours never does.
#ifndef PARTITA_OPS_CUDA_CUDNN_CUDNN_CONVOLUTION_H_
#define PARTITA_OPS_CUDA_CUDNN_CUDNN_CONVOLUTION_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ops/cuda/cudnn/cudnn_graph.h"
#include "ops/cuda/kernel/cuda_kernel.h"
#include "ops/cuda/plans/plan_timer.h"
#include "ops/plans/plan_cache.h"

namespace partita {

// What may be spent on plans besides the first of each convolution, which is always made. Some engines are compiled
// when they are planned, for seconds each.
struct PlanningLimits {
  double seconds_each = 4;     // on planning one convolution
  double seconds_in_all = 60;  // on planning and timing all of this process
  // Only differences count.
  std::function<double()> clock = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
};

struct CudnnOptions {
  bool allow_tf32 = false;
  bool deterministic = true;
  std::string device = "";    // model and capability, as part of keys: "NVIDIA H200 sm_90"
  PlanTimer timer = nullptr;  // not called if deterministic; null: the heuristics decide
  PlanLoader load = nullptr;  // null: nothing is captured
  PlanningLimits limits = {};
  std::function<void(const std::string&)> tell = nullptr;  // takes one line, once the limit for all is reached
};

struct ConvolutionPlan;

// Thread-safe. Kernels that it prepared keep it alive.
class CudnnConvolutions : public std::enable_shared_from_this<CudnnConvolutions> {
 public:
  // For the GPU that is the calling thread's; `cache` must outlive everything. Errors are those of cudnnCreate.
  static absl::StatusOr<std::shared_ptr<CudnnConvolutions>> Create(const CudnnApi& api, CudnnOptions options,
                                                                   PlanCache* cache);
  // For a GPU that need not be here (DescribedTarget), to plan: what it prepares is never bound.
  static absl::StatusOr<std::shared_ptr<CudnnConvolutions>> CreateDescribed(const CudnnApi& api, CudnnOptions options,
                                                                            const std::string& gpu, PlanCache* cache);
  ~CudnnConvolutions();

  // Refuses what cuDNN does not take, f64, empty images, and parts of images whose pixels are no multiples of 16 bytes.
  // A node whose addresses turn out not to be multiples of 16 bytes is bound to the reference kernel; but a gradient of
  // weights whose size is no such multiple is computed in the workspace and copied.
  absl::StatusOr<PreparedCudaKernel> Prepare(const LocalNode& node);

 private:
  CudnnConvolutions(const CudnnApi& api, CudnnOptions options, PlanCache* cache)
      : api_(api), options_(std::move(options)), cache_(cache) {}

  using SharedPlan = std::shared_ptr<const ConvolutionPlan>;

  // Called with the mutex held. Of a convolution with an epilogue the plan may be one of the convolution alone.
  absl::StatusOr<SharedPlan> FindPlan(const CudnnConvolution& convolution);
  // The plan of the convolution alone if `fused` failed or, with a launch for the epilogue, is slower.
  absl::StatusOr<SharedPlan> OrApart(const CudnnConvolution& convolution, const std::string& key,
                                     const absl::StatusOr<SharedPlan>& fused);
  absl::StatusOr<SharedPlan> MakePlan(const CudnnConvolution& convolution, const std::string& key);
  absl::StatusOr<ConvolutionPlan> MakeTimedPlan(const CudnnConvolution& convolution, const CudnnDescriptor& graph);
  void Spend(double seconds);

  const CudnnApi api_;
  const CudnnOptions options_;
  PlanCache* const cache_;
  CudnnTarget target_;
  std::mutex mutex_;
  std::map<std::string, SharedPlan> plans_;
  double spent_ = 0;  // seconds, of limits.seconds_in_all
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUDNN_CUDNN_CONVOLUTION_H_
