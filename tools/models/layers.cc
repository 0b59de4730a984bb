#include "tools/models/layers.h"

#include <algorithm>
#include <cmath>

#include "graph/optimizer/optimizer.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kImageNetPictures = 1'281'167;  // to train on

// The options, with the defaults in place of what they leave open.
ModelOptions Complete(ModelOptions options, const ModelDefaults& defaults) {
  if (options.image_size == 0) options.image_size = defaults.image_size;
  if (options.image_channels == 0) options.image_channels = defaults.image_channels;
  if (options.classes == 0) options.classes = defaults.classes;
  options.batch_norm = options.batch_norm.value_or(defaults.batch_norm);
  options.batch_norm_epsilon = options.batch_norm_epsilon.value_or(defaults.epsilon);
  options.batch_norm_momentum = options.batch_norm_momentum.value_or(defaults.momentum);
  options.dropout = options.dropout.value_or(defaults.dropout);
  options.dropout_rate = options.dropout_rate.value_or(defaults.dropout_rate);
  options.label_smoothing = options.label_smoothing.value_or(defaults.label_smoothing);
  return options;
}

}  // namespace

int64_t DivisibleChannels(double channels, int64_t divisor) {
  const auto unit = static_cast<double>(divisor);
  const int64_t nearest = std::max<int64_t>(1, std::llround(channels / unit)) * divisor;
  return static_cast<double>(nearest) < 0.9 * channels ? nearest + divisor : nearest;
}

ModelDefaults ImageNetDefaults() { return {.image_size = 224, .image_channels = 3, .classes = 1000}; }

int64_t StepsOfImageNet(int64_t epochs, int64_t batch) {
  return std::max<int64_t>(1, epochs * kImageNetPictures / std::max<int64_t>(1, batch));
}

Recipe OneCycleSgd() {
  Recipe recipe;
  recipe.optimizer.attributes = {{"momentum", 0.9}, {"weight_decay", 5e-4}, {"nesterov", true}};
  recipe.rate.schedule = "one_cycle";
  recipe.rate.base = 0.1;
  return recipe;
}

Recipe StaircaseSgd(double base, double weight_decay, int64_t batch) {
  Recipe recipe;
  recipe.optimizer.attributes = {{"momentum", 0.9}, {"weight_decay", weight_decay}};
  recipe.rate.schedule = "step";
  recipe.rate.base = base * static_cast<double>(batch) / 256;
  recipe.rate.decay = 0.1;
  recipe.rate.decay_steps = StepsOfImageNet(30, batch);
  return recipe;
}

ModelLayers::ModelLayers(const ModelOptions& options, const OpRegistry& registry, const ModelDefaults& defaults)
    : options_(Complete(options, defaults)),
      registry_(registry),
      divisor_(defaults.divisor),
      builder_(registry, options.dtype) {
  const int64_t size = options_.image_size;
  images_ = builder_.Input("images", options.dtype, {options.batch, size, size, options_.image_channels});
  labels_ = builder_.Input("labels", DType::kI32, {options.batch});
}

int64_t ModelLayers::Limit(int64_t channels) const {
  const double scaled = options_.width * static_cast<double>(channels);
  if (options_.width != 1) channels = divisor_ > 1 ? DivisibleChannels(scaled, divisor_) : std::llround(scaled);
  channels = std::max<int64_t>(1, channels);
  return options_.channel_limit > 0 ? std::min(channels, options_.channel_limit) : channels;
}

int64_t ModelLayers::Channels(ValueId x) const { return builder_.status().ok() ? builder_.type(x).shape.back() : 1; }

ValueId ModelLayers::Normalize(const std::string& name, ValueId x) {
  if (!*options_.batch_norm) return builder_.Bias(name + "/bias", x);
  return builder_.BatchNorm(name + "/batch_norm", x,
                            {.epsilon = *options_.batch_norm_epsilon,
                             .momentum = *options_.batch_norm_momentum,
                             .statistics_samples = options_.statistics_samples});
}

ValueId ModelLayers::Normalized(const std::string& name, ValueId x, const Conv2dOptions& options,
                                const std::string& activation) {
  x = Normalize(name, builder_.Conv2d(name + "/conv", x, options));
  return activation.empty() ? x : builder_.Add(name + "/" + activation, activation, {x});
}

ValueId ModelLayers::Conv(const std::string& name, ValueId x, Conv2dOptions options, const std::string& activation) {
  options.channels = Limit(options.channels);
  return Normalized(name, x, options, activation);
}

ValueId ModelLayers::Depthwise(const std::string& name, ValueId x, Conv2dOptions options,
                               const std::string& activation) {
  options.channels = options.groups = Channels(x);
  return Normalized(name, x, options, activation);
}

ValueId ModelLayers::SqueezeExcite(const std::string& name, ValueId x, int64_t squeezed, const std::string& activation,
                                   const std::string& gate) {
  if (!builder_.status().ok()) return kNoValue;
  const Shape shape = builder_.type(x).shape;
  const std::string squeeze = name + "/squeeze";
  ValueId means = builder_.Dense(squeeze, builder_.GlobalAveragePool(name + "/pool", x), squeezed);
  means = builder_.Add(squeeze + "/" + activation, activation, {means});
  const ValueId gates = builder_.Add(name + "/gate", gate, {builder_.Dense(name + "/excite", means, shape[3])});
  const Attributes pixels = {{"axes", IntList{1, 2}}, {"sizes", IntList{shape[1], shape[2]}}};
  return builder_.Add(name + "/scaled", "mul", {x, builder_.Add(name + "/expanded", "expand", {gates}, pixels)});
}

ValueId ModelLayers::Hidden(const std::string& name, ValueId x, int64_t units) {
  return builder_.Relu(name + "/relu", Normalize(name, builder_.MatMul(name + "/matmul", x, Limit(units))));
}

ValueId ModelLayers::Dense(const std::string& name, ValueId x, int64_t units, const std::string& activation) {
  return builder_.Add(name + "/" + activation, activation, {builder_.Dense(name, x, Limit(units))});
}

ValueId ModelLayers::Dropout(const std::string& name, ValueId x) {
  return *options_.dropout ? builder_.Dropout(name, x, *options_.dropout_rate) : x;
}

ValueId ModelLayers::Logits(const std::string& name, ValueId features) {
  return builder_.Dense(name, features, options_.classes, "glorot_uniform");
}

void ModelLayers::FurtherLoss(const std::string& name, ValueId features, double weight) {
  const ValueId logits = Logits(name + "/classifier", features);
  const ValueId loss = builder_.SoftmaxCrossEntropy(name + "/loss", logits, labels_, *options_.label_smoothing);
  further_losses_.push_back({loss, weight, /*training_only=*/true});
}

ValueId ModelLayers::EndOfBlock(const std::string& block, ValueId x) {
  if (!options_.local_updates || !builder_.status().ok()) return x;
  const bool image = builder_.type(x).shape.size() == 4;
  const std::string name = block + "/local";
  FurtherLoss(name, image ? builder_.GlobalAveragePool(name + "/pool", x) : x, 1);
  return builder_.Add(name + "/end", "stop_gradient", {x});
}

absl::StatusOr<Model> ModelLayers::Finish(const std::string& name, ValueId features, const Recipe& recipe) {
  const ValueId logits = Logits("classifier", features);
  const ValueId loss = builder_.SoftmaxCrossEntropy("loss", logits, labels_, *options_.label_smoothing);
  const ValueId accuracy = builder_.Accuracy("accuracy", logits, labels_);
  Model model;
  model.name = name;
  ASSIGN_OR_RETURN(model.graph, builder_.Build(loss, {accuracy}, further_losses_));
  Optimizer optimizer = recipe.optimizer;
  if (options_.average) optimizer.average = MovingAverage{*options_.average};
  ASSIGN_OR_RETURN(model.optimizer, CompleteOptimizer(optimizer, registry_.optimizers()));
  model.learning_rate = recipe.rate;
  return model;
}

}  // namespace partita
