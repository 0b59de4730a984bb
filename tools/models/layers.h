// Common parts of the shipped models: inputs, losses, training, and layers that may have batch norm and dropout.
#ifndef PARTITA_TOOLS_MODELS_LAYERS_H_
#define PARTITA_TOOLS_MODELS_LAYERS_H_

#include <string>
#include <vector>

#include "ops/graph_builder.h"
#include "tools/models/models.h"

namespace partita {

// What a model has where the options say nothing.
struct ModelDefaults {
  int64_t image_size = 28, image_channels = 1, classes = 10;
  bool batch_norm = false;
  double epsilon = 1e-3, momentum = 0.1;  // of batch norm
  bool dropout = false;
  double dropout_rate = 0.2;
  double label_smoothing = 0;
  int64_t divisor = 1;  // above 1: layers of another width than 1 have DivisibleChannels
};

// The multiple of `divisor` next to `channels`, at least one and at least nine tenths of them (Sandler et al. 2018).
int64_t DivisibleChannels(double channels, int64_t divisor);

ModelDefaults ImageNetDefaults();  // 224 x 224 x 3, 1000 classes
// The steps of this number of ImageNet epochs, at least one.
int64_t StepsOfImageNet(int64_t epochs, int64_t batch);

// How a model is trained.
struct Recipe {
  Optimizer optimizer;
  LearningRate rate;
};
Recipe OneCycleSgd();
// SGD with momentum 0.9, whose rate falls to a tenth every 30 epochs of ImageNet. `base` is the rate for a batch of
// 256; the rate is proportional to the batch, because networks without batch norm diverge at the rate of a much larger
// one.
Recipe StaircaseSgd(double base, double weight_decay, int64_t batch);

class ModelLayers {
 public:
  ModelLayers(const ModelOptions& options, const OpRegistry& registry, const ModelDefaults& defaults);

  GraphBuilder& builder() { return builder_; }
  ValueId images() const { return images_; }
  int64_t Channels(ValueId x) const;  // 1, if there was an error

  // Convolution, then batch norm or a bias, then an op of one input ("": none): "<name>/conv", "<name>/batch_norm" or
  // "<name>/bias", "<name>/relu". The number of channels is limited by the options.
  ValueId Conv(const std::string& name, ValueId x, Conv2dOptions options, const std::string& activation = "relu");
  // The same, of each channel of x by itself.
  ValueId Depthwise(const std::string& name, ValueId x, Conv2dOptions options, const std::string& activation);
  // Each channel of x times a gate (Hu et al. 2018) that two dense layers make of the means of all channels:
  // "<name>/pool", "<name>/squeeze/matmul", "<name>/squeeze/bias", "<name>/squeeze/<activation>",
  // "<name>/excite/matmul",
  // "<name>/excite/bias", "<name>/gate", "<name>/scaled". `squeezed`: the channels between the two.
  ValueId SqueezeExcite(const std::string& name, ValueId x, int64_t squeezed, const std::string& activation,
                        const std::string& gate);
  // The same as Conv with a matrix product: "<name>/matmul", ...
  ValueId Hidden(const std::string& name, ValueId x, int64_t units);
  // The same without batch norm, and with another op behind it.
  ValueId Dense(const std::string& name, ValueId x, int64_t units, const std::string& activation);
  // Dropout if the model has it.
  ValueId Dropout(const std::string& name, ValueId x);

  // A second classifier on `features`, in training alone: "<name>/classifier/matmul", "<name>/classifier/bias" and
  // "<name>/loss", which counts `weight` times.
  void FurtherLoss(const std::string& name, ValueId features, double weight);
  // The end of a block that is not the last: `x`; or, under local updates, FurtherLoss "<block>/local" of weight 1
  // behind
  // "<block>/local/pool", and "<block>/local/end", through which no gradient flows.
  ValueId EndOfBlock(const std::string& block, ValueId x);
  // "classifier/matmul" and "classifier/bias" to the classes, loss and accuracy; then the model.
  absl::StatusOr<Model> Finish(const std::string& name, ValueId features, const Recipe& recipe = OneCycleSgd());

 private:
  ValueId Normalize(const std::string& name, ValueId x);
  ValueId Normalized(const std::string& name, ValueId x, const Conv2dOptions& options, const std::string& activation);
  ValueId Logits(const std::string& name, ValueId features);
  int64_t Limit(int64_t channels) const;

  ModelOptions options_;  // with the defaults in place of what they leave open
  const OpRegistry& registry_;
  const int64_t divisor_;
  GraphBuilder builder_;
  ValueId images_ = kNoValue;
  ValueId labels_ = kNoValue;
  std::vector<partita::FurtherLoss> further_losses_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_LAYERS_H_
