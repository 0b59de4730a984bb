#include "tools/models/layers.h"

#include <algorithm>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kClasses = 10;

}  // namespace

ModelLayers::ModelLayers(const ModelOptions& options, const OpRegistry& registry, bool batch_norm, bool dropout)
    : options_(options),
      batch_norm_(options.batch_norm.value_or(batch_norm)),
      dropout_(options.dropout.value_or(dropout)),
      builder_(registry, options.dtype) {
  const int64_t size = options.image_size;
  images_ = builder_.Input("images", options.dtype, {options.batch, size, size, 1});
  labels_ = builder_.Input("labels", DType::kI32, {options.batch});
}

int64_t ModelLayers::Limit(int64_t channels) const {
  return options_.channel_limit > 0 ? std::min(channels, options_.channel_limit) : channels;
}

ValueId ModelLayers::NormalizeAndRelu(const std::string& name, ValueId x) {
  x = batch_norm_ ? builder_.BatchNorm(name + "/batch_norm", x, {.statistics_samples = options_.statistics_samples})
                  : builder_.Bias(name + "/bias", x);
  return builder_.Relu(name + "/relu", x);
}

ValueId ModelLayers::Conv(const std::string& name, ValueId x, Conv2dOptions options) {
  options.channels = Limit(options.channels);
  return NormalizeAndRelu(name, builder_.Conv2d(name + "/conv", x, options));
}

ValueId ModelLayers::Hidden(const std::string& name, ValueId x, int64_t units) {
  return NormalizeAndRelu(name, builder_.MatMul(name + "/matmul", x, Limit(units)));
}

ValueId ModelLayers::Dropout(const std::string& name, ValueId x, double rate) {
  return dropout_ ? builder_.Dropout(name, x, rate) : x;
}

absl::StatusOr<Model> ModelLayers::Finish(const std::string& name, ValueId features, double label_smoothing) {
  const ValueId logits = builder_.Dense("classifier", features, kClasses, "glorot_uniform");
  const ValueId loss = builder_.SoftmaxCrossEntropy("loss", logits, labels_, label_smoothing);
  const ValueId accuracy = builder_.Accuracy("accuracy", logits, labels_);
  Model model;
  model.name = name;
  ASSIGN_OR_RETURN(model.graph, builder_.Build(loss, {accuracy}));
  model.optimizer.attributes = {{"momentum", 0.9}, {"weight_decay", 5e-4}, {"nesterov", true}};
  model.learning_rate.schedule = "one_cycle";
  model.learning_rate.base = 0.1;
  return model;
}

}  // namespace partita
