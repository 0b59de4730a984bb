// The models that are shipped, as C++ functions of their sizes.
//
//   lenet5          LeCun et al. 1998 with relu and max pooling: 61,706 parameters at 28 x 28
//   mlp             784-256-128-10
//   mini-inception  two inception blocks on a small stem: 118,394 parameters, 8.5 M multiply-adds an image
//
// All read `images` [batch, size, size, 1] and `labels` [batch], minimise `loss` and report `accuracy`. Parameters are
// named after their layer: "a2_3x3/conv/weights" is of the second convolution of branch 2 of block A.
#ifndef PARTITA_TOOLS_MODELS_MODELS_H_
#define PARTITA_TOOLS_MODELS_MODELS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

struct ModelOptions {
  int64_t batch = 64;              // global
  int64_t image_size = 28;         // pixels, square; lenet5 needs at least 12, mini-inception 4
  int64_t channel_limit = 0;       // the most channels or units a hidden layer has; 0: as the model says
  int64_t statistics_samples = 0;  // of batch norm
  // Unset: as the model says (mini-inception: both). Without batch norm, layers have a bias.
  std::optional<bool> dropout = std::nullopt;
  std::optional<bool> batch_norm = std::nullopt;
  DType dtype = DType::kF32;  // of images, parameters and states
};

std::vector<std::string> ModelNames();

// kInvalidArgument: an unknown name (did you mean), or sizes that the model cannot have.
absl::StatusOr<Model> MakeModel(const std::string& name, const ModelOptions& options, const OpRegistry& registry);

absl::StatusOr<Model> MakeLeNet5(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeMlp(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeMiniInception(const ModelOptions& options, const OpRegistry& registry);

// Multiply-adds of all convolutions and matrix products of a forward pass, for the whole batch.
double MultiplyAdds(const Graph& graph);
int64_t ParameterCount(const Graph& graph);  // elements of all parameters

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_MODELS_H_
