// The models that are shipped, as C++ functions of their sizes.
//
//   lenet5          LeCun et al. 1998 with relu and max pooling: 61,706 parameters at 28 x 28
//   mlp             784-256-128-10
//   mini-inception  two inception blocks on a small stem: 118,394 parameters, 8.5 M multiply-adds an image
//   inception-v3    Szegedy et al. 2016: 23,834,568 parameters, with the auxiliary head 27,161,264; 5.713 G
//                   multiply-adds
//   resnet-50       He et al. 2016, strides in the 3 x 3 convolutions (v1.5): 25,557,032 parameters
//   alexnet         Krizhevsky 2014, one tower: 61,100,840 parameters
//   alexnet-2012    Krizhevsky et al. 2012, without groups and response normalization: 62,378,344 parameters
//   vgg-16          Simonyan and Zisserman 2015: 138,357,544 parameters
//   mobilenet-v3-large   Howard et al. 2019: 5,483,032 parameters, 217 M multiply-adds
//   efficientnet-b0      Tan and Le 2019: 5,288,548 parameters, 386 M multiply-adds
//
// All read `images` [batch, size, size, channels] and `labels` [batch], minimise `loss` and report `accuracy`.
// Parameters are named after their layer: "a2_3x3/conv/weights" is of the second convolution of branch 2 of block A.
#ifndef PARTITA_TOOLS_MODELS_MODELS_H_
#define PARTITA_TOOLS_MODELS_MODELS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// Where it says 0 or nothing: as the model has it.
struct ModelOptions {
  int64_t batch = 64;              // global
  int64_t image_size = 0;          // pixels, square; lenet5 needs at least 12, mini-inception 4, inception-v3 75
  int64_t channel_limit = 0;       // the most channels or units a hidden layer has; 0: no limit
  int64_t statistics_samples = 0;  // of batch norm; 0: the whole batch
  std::optional<bool> dropout = std::nullopt;
  std::optional<bool> batch_norm = std::nullopt;  // without it, layers have a bias
  DType dtype = DType::kF32;                      // of images, parameters and states
  int64_t classes = 0;
  int64_t image_channels = 0;
  double width = 1;  // multiplies the channels or units of hidden layers; at least one remains
  std::optional<double> dropout_rate = std::nullopt;
  std::optional<double> label_smoothing = std::nullopt;
  std::optional<double> batch_norm_epsilon = std::nullopt;
  std::optional<double> batch_norm_momentum = std::nullopt;
  // Decay of moving averages of parameters and running statistics, which evaluation reads; nothing: there are none.
  std::optional<double> average = std::nullopt;
  // Each of the model's blocks has a loss of its own, of a classifier behind its global average pool, and no gradient
  // goes to the block before it (docs/papers.md 5.2).
  bool local_updates = false;
  // Of inception-v3 alone.
  bool auxiliary_head = false;
  bool count_padding = false;     // by average pools at borders, as torchvision does; TensorFlow does not
  bool last_pool_is_max = false;  // of the last block; else the average
};

std::vector<std::string> ModelNames();

// kInvalidArgument: an unknown name (did you mean), or sizes that the model cannot have.
absl::StatusOr<Model> MakeModel(const std::string& name, const ModelOptions& options, const OpRegistry& registry);

absl::StatusOr<Model> MakeLeNet5(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeMlp(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeMiniInception(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeInceptionV3(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeResNet50(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeAlexNet(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeAlexNet2012(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeVgg16(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeMobileNetV3Large(const ModelOptions& options, const OpRegistry& registry);
absl::StatusOr<Model> MakeEfficientNetB0(const ModelOptions& options, const OpRegistry& registry);

// Multiply-adds of all convolutions and matrix products of a forward pass, for the whole batch.
double MultiplyAdds(const Graph& graph);
int64_t ParameterCount(const Graph& graph);  // elements of all parameters

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_MODELS_H_
