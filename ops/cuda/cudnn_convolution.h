// Convolution and its two gradients on cuDNN's graph: f32 (TF32 where it is allowed) and bf16 with f32 sums, NHWC
// images, OHWI weights, groups, strides, dilations, a padding for each side.
//
// A plan is the first that the library's heuristics name, of those that keep to the rules: no TF32 and no rounded
// inputs of f32 where they are not allowed, none that is not deterministic where results must repeat (the option, or a
// node that several ranks compute alike). Without the option the first few may be timed (CudnnOptions::timer) and the
// fastest wins. It is kept by a text of the library's own (PlanCache).
#ifndef PARTITA_OPS_CUDA_CUDNN_CONVOLUTION_H_
#define PARTITA_OPS_CUDA_CUDNN_CONVOLUTION_H_

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ops/cuda/cuda_kernel.h"
#include "ops/cuda/cudnn_descriptor.h"
#include "ops/cuda/plan_cache.h"
#include "ops/cuda/plan_timer.h"

namespace partita {

struct CudnnOptions {
  bool allow_tf32 = false;
  bool deterministic = true;
  std::string device = "";    // model and capability, as part of keys: "NVIDIA H200 sm_90"
  PlanTimer timer = nullptr;  // not called if deterministic; null: the heuristics decide
};

struct ConvolutionPlan;

// Thread-safe. Kernels that it prepared keep it alive.
class CudnnConvolutions : public std::enable_shared_from_this<CudnnConvolutions> {
 public:
  // For the GPU that is the calling thread's; `cache` must outlive everything. Errors are those of cudnnCreate.
  static absl::StatusOr<std::shared_ptr<CudnnConvolutions>> Create(const CudnnApi& api, CudnnOptions options,
                                                                   PlanCache* cache);
  ~CudnnConvolutions();

  // Refuses what cuDNN does not take, f64, empty images, and parts of images whose pixels are no multiples of 16 bytes.
  // A node whose addresses turn out not to be multiples of 16 bytes is bound to the reference kernel.
  absl::StatusOr<PreparedCudaKernel> Prepare(const LocalNode& node);

 private:
  CudnnConvolutions(const CudnnApi& api, CudnnOptions options, PlanCache* cache)
      : api_(api), options_(std::move(options)), cache_(cache) {}

  absl::StatusOr<std::shared_ptr<const ConvolutionPlan>> MakePlan(const LocalNode& node, const std::string& key);
  absl::StatusOr<CudaEnqueue> Bind(const std::shared_ptr<const ConvolutionPlan>& plan,
                                   const std::array<void*, 3>& blocks, void* workspace);

  const CudnnApi api_;
  const CudnnOptions options_;
  PlanCache* const cache_;
  cudnnHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const ConvolutionPlan>> plans_;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUDNN_CONVOLUTION_H_
