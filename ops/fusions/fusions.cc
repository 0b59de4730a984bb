#include "ops/fusions/fusions.h"

#include "ops/fusions/fuse_batch_norm_gradient.h"
#include "ops/fusions/fuse_bias_gradient.h"
#include "ops/fusions/fuse_epilogues.h"
#include "ops/fusions/fuse_normalize_add.h"
#include "ops/fusions/fuse_normalize_relu.h"
#include "ops/fusions/fuse_relu_masks.h"
#include "ops/fusions/fuse_relu_sums.h"
#include "ops/fusions/fuse_small_batch_norms.h"
#include "ops/fusions/fuse_widening.h"
#include "ops/fusions/pool_last.h"
#include "ops/fusions/sum_input_gradients.h"

namespace partita {

std::vector<Fusion> AllFusions() {
  return {
      {"pool_last", Fusion::When::kForward, PoolLast},
      {"fuse_normalize_relu", Fusion::When::kForward, FuseNormalizeRelu},
      {"fuse_batch_norm_gradient", Fusion::When::kGradients, FuseBatchNormGradient},
      {"sum_input_gradients", Fusion::When::kGradients, SumInputGradients},
      {"fuse_epilogues", Fusion::When::kLast, FuseEpilogues},
      {"fuse_normalize_add", Fusion::When::kLast, FuseNormalizeAdd, /*for_gpu=*/true},
      {"fuse_relu_masks", Fusion::When::kLast, FuseReluMasks, /*for_gpu=*/true},
      {"fuse_bias_gradient", Fusion::When::kLast, FuseBiasGradient, /*for_gpu=*/true},
      {"fuse_relu_sums", Fusion::When::kLast, FuseReluSums, /*for_gpu=*/true},
      {"fuse_small_batch_norms", Fusion::When::kLast, FuseSmallBatchNorms, /*for_gpu=*/true},
      {"fuse_widening", Fusion::When::kLast, FuseWidening, /*for_gpu=*/true},
  };
}

}  // namespace partita
