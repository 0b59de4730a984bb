// The convolutions of the small shipped models and of Inception-V3, each size once, in all directions.
#ifndef PARTITA_TESTS_OPS_CUDA_CUDNN_MODEL_CONVOLUTIONS_H_
#define PARTITA_TESTS_OPS_CUDA_CUDNN_MODEL_CONVOLUTIONS_H_

#include <string>
#include <vector>

#include "graph/ir/kernel_catalogue.h"

namespace partita {

struct ModelConvolution {
  std::string name;  // "[64,28,28,1] w [32,3,3,1] stride [1,1] padding [1,1,1,1] conv2d"
  LocalNode node;    // f32
};

// At the models' batch of 64, forward, input gradient, weight gradient. Fails the test if a model cannot be made.
std::vector<ModelConvolution> ModelConvolutions();

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_CUDNN_MODEL_CONVOLUTIONS_H_
