// What the shipped models have in common: inputs, loss, training, and layers that may carry batch norm and dropout.
#ifndef PARTITA_TOOLS_MODELS_LAYERS_H_
#define PARTITA_TOOLS_MODELS_LAYERS_H_

#include <string>

#include "ops/graph_builder.h"
#include "tools/models/models.h"

namespace partita {

class ModelLayers {
 public:
  // `batch_norm`, `dropout`: what the model has where the options say nothing.
  ModelLayers(const ModelOptions& options, const OpRegistry& registry, bool batch_norm, bool dropout);

  GraphBuilder& builder() { return builder_; }
  ValueId images() const { return images_; }

  // Convolution, then batch norm or a bias, then relu: "<name>/conv", "<name>/batch_norm" or "<name>/bias",
  // "<name>/relu". The number of channels is limited by the options.
  ValueId Conv(const std::string& name, ValueId x, Conv2dOptions options);
  // The same with a matrix product: "<name>/matmul", ...
  ValueId Hidden(const std::string& name, ValueId x, int64_t units);
  // Dropout if the model has it.
  ValueId Dropout(const std::string& name, ValueId x, double rate);

  // "classifier/matmul" and "classifier/bias" to ten classes, loss and accuracy; then the model with its optimizer.
  absl::StatusOr<Model> Finish(const std::string& name, ValueId features, double label_smoothing);

 private:
  ValueId NormalizeAndRelu(const std::string& name, ValueId x);
  int64_t Limit(int64_t channels) const;

  ModelOptions options_;
  bool batch_norm_;
  bool dropout_;
  GraphBuilder builder_;
  ValueId images_ = kNoValue;
  ValueId labels_ = kNoValue;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_LAYERS_H_
